"""Bytes of a text file to text: UTF-8 first, then what a byte order mark, the file's own declaration or the bytes say.

Lives here: choosing an encoding, and telling text from binary. Repair of the decoded text is text/repair.py. Build
side only: charset-normalizer is not in the base install.
"""

import codecs
import re
from dataclasses import dataclass

import charset_normalizer

CONTROL_SHARE = 0.3
"""Valid UTF-8 with more control bytes than this is binary ..."""
CONTROL_SHARE_OTHER = 0.05
"""... and so are other bytes with more than this: compressed data has 11 %, text in an 8-bit encoding none."""
SAMPLE = 64 * 1024
_CONTROLS = bytes(b for b in range(32) if b not in b"\t\n\r\x0b\x0c\x1b")
_BOMS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"""(?:charset\s*=\s*["']?|coding[:=]\s*|encoding\s*=\s*["'])([A-Za-z0-9_.:-]{2,40})""")
_ENCODINGS = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
_WESTERN = re.compile(rb"[\x80-\xff]{4}")
_SYMBOL_IN_WORD = re.compile(r"[^\W\d_][^\W\d_\x00-\x7f]*[^\w\s\x00-\x7f’\xad·][^\W\d_]")


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    """A byte order mark is still in it: its offset counts in the file."""
    encoding: str
    undecodable: int = 0
    """Bytes that became U+FFFD."""

    @property
    def repairs(self) -> tuple[str, ...]:
        said = () if self.encoding == "utf-8" else (f"decoded as {self.encoding}",)
        lost = (f"{self.undecodable} undecodable bytes to U+FFFD",) if self.undecodable else ()
        return said + lost


def decode(data: bytes) -> Decoded | None:
    """The text, or None where the bytes are no text."""
    for mark, encoding in _BOMS:
        if data.startswith(mark) and (decoded := _strictly(data, encoding)):
            return decoded
    if wide := _wide(data):
        return wide
    share = control_share(data)
    if decoded := _strictly(data, "utf-8"):
        return decoded if share <= CONTROL_SHARE else None
    if share > CONTROL_SHARE_OTHER:
        return None
    return _surrogates(data) or _damaged_utf8(data) or _declared(data) or _detected(data)


def control_share(data: bytes) -> float:
    """Share of bytes that no text has: C0 controls but tab, line ends, form feed and escape."""
    return 1 - len(data.translate(None, _CONTROLS)) / len(data) if data else 0.0


def _strictly(data: bytes, encoding: str) -> Decoded | None:
    try:
        return Decoded(data.decode(encoding), encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _wide(data: bytes) -> Decoded | None:
    """UTF-16 without a mark: nearly every other byte is NUL, always on the same side."""
    sample = data[:SAMPLE]
    if len(data) % 2 or len(sample) < 4:
        return None
    half = len(sample) / 2
    even, odd = sample[::2].count(0) / half, sample[1::2].count(0) / half
    if max(even, odd) < 0.5 or min(even, odd) > 0.02:
        return None
    decoded = _strictly(data, "utf-16-le" if odd > even else "utf-16-be")
    # A table of small numbers looks alike; read as text it is full of controls.
    return decoded if decoded and control_share(decoded.text[:SAMPLE].encode("utf-8")) <= CONTROL_SHARE_OTHER else None


def _surrogates(data: bytes) -> Decoded | None:
    """UTF-8 written by programs that encode surrogates: pairs are joined, lone ones are left to the repair."""
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return Decoded(joined, "utf-8 with surrogates")


def _damaged_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with a few bad bytes: valid sequences of several bytes are far more frequent than chance allows."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd") - data.count("\ufffd".encode())
    good = sum(1 for c in text if c > "\x7f" and c != "\ufffd")
    return Decoded(text, "utf-8", bad) if good > 4 * bad else None


def _declared(data: bytes) -> Decoded | None:
    match = _DECLARED.search(data[:1024])
    if match is None:
        return None
    try:
        name = codecs.lookup(match[1].decode("ascii")).name
    except LookupError:
        return None
    # Some codecs ("zlib", "rot13") don't make text, and the UTF ones were tried.
    return _strictly(data, name) if name in _ENCODINGS or name.startswith(("iso8859", "cp", "mac", "shift")) else None


def _detected(data: bytes) -> Decoded:
    """Western text has single high bytes between ASCII letters; for the rest the bytes' statistics decide."""
    sample = _telling_lines(data)
    western = _strictly(sample, "cp1252")
    if western and not _WESTERN.search(sample) and not _SYMBOL_IN_WORD.search(western.text):
        encoding = "cp1252"
    else:
        best = charset_normalizer.from_bytes(sample, cp_isolation=_ENCODINGS).best()
        encoding = best.encoding if best else "cp1252"
    text = data.decode(encoding, "replace")
    return Decoded(text, encoding, text.count("\ufffd"))


def _telling_lines(data: bytes) -> bytes:
    """Lines with high bytes, up to SAMPLE: a long file may hold its only accent at the end."""
    lines: list[bytes] = []
    size = 0
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line[:SAMPLE])
            size += len(lines[-1])
            if size >= SAMPLE:
                break
    return b"".join(lines)
