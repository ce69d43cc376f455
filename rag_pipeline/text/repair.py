"""Text as it may be stored: one kind of line end, no byte order mark, no control characters, no lone surrogates.

Lives here: the repair of decoded text, for documents, eval sets and queries alike, and the map back to the offsets
before it. Bytes are decoded in text/decode.py; Unicode normalisation belongs to the search analyzer, because stored
text is what people are shown.
"""

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass

BOM = "\ufeff"
REPLACEMENT = "\ufffd"
_REPAIRABLE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]|^" + BOM)
# A mark behind other marks or controls leads the text once they are gone; repairing twice must change nothing.
_FAULT = re.compile(f"^[{BOM}\x00-\x08\x0e-\x1f]*{BOM}" + "|\r\n|[\r\x0b\x0c]|[\x00-\x08\x0e-\x1f]+|[\ud800-\udfff]")

SourceMap = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Repaired:
    text: str
    source_map: tuple[tuple[int, int], ...]
    """`(offset in text, offset before the repair)`: from the first on, both advance alike; empty = nothing moved."""
    repairs: tuple[str, ...]
    """What was done, for a person to read: "3 control characters removed"."""


def repair(text: str) -> Repaired:
    """Strip a leading BOM and C0 controls (but tab), turn CRLF, CR, VT and FF into LF, lone surrogates into U+FFFD."""
    if not _REPAIRABLE.search(text):
        return Repaired(text, (), ())
    parts: list[str] = []
    breaks: list[tuple[int, int]] = []
    counts = {"bom": 0, "crlf": 0, "breaks": 0, "controls": 0, "surrogates": 0}
    stored = 0
    copied = 0
    for match in _FAULT.finditer(text):
        start, end = match.span()
        kept, kind = _replacement(match[0])
        counts[kind] += 1 if kind != "controls" else end - start
        parts += (text[copied:start], kept)
        stored += start - copied
        copied = end
        if len(kept) != end - start:
            # A kept line feed stands for the second half of its CRLF, so that it equals its source.
            breaks.append((stored, end - len(kept)))
        stored += len(kept)
    parts.append(text[copied:])
    return Repaired("".join(parts), _last_of_each(breaks), _described(counts))


def repair_text(text: str) -> str:
    """`repair(text).text`, for queries and other text that needs no way back."""
    return repair(text).text


def to_source_offset(source_map: SourceMap, offset: int) -> int:
    """Offset before the repair of the code point at `offset` in the repaired text."""
    at = bisect.bisect_right(source_map, offset, key=lambda pair: pair[0])
    if at == 0:
        return offset
    stored, original = source_map[at - 1]
    return original + offset - stored


def to_source_span(source_map: SourceMap, start: int, end: int) -> tuple[int, int]:
    """The half-open span before the repair; it ends right behind its last code point, not at a removed neighbour."""
    first = to_source_offset(source_map, start)
    return (first, to_source_offset(source_map, end - 1) + 1) if end > start else (first, first)


def _replacement(fault: str) -> tuple[str, str]:
    if fault.endswith(BOM):
        return "", "bom"
    if fault == "\r\n":
        return "\n", "crlf"
    if fault in "\r\x0b\x0c":
        return "\n", "breaks"
    return (REPLACEMENT, "surrogates") if fault >= "\ud800" else ("", "controls")


def _last_of_each(breaks: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(dict(breaks).items())


def _described(counts: dict[str, int]) -> tuple[str, ...]:
    said = {
        "bom": "byte order mark removed",
        "crlf": f"{counts['crlf']} CRLF line ends to LF",
        "breaks": f"{counts['breaks']} CR, VT or FF to LF",
        "controls": f"{counts['controls']} control characters removed",
        "surrogates": f"{counts['surrogates']} lone surrogates to U+FFFD",
    }
    return tuple(said[kind] for kind, count in counts.items() if count)
