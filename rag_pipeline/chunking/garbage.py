"""What is not worth indexing, as small named rules; whoever applies them writes each rejection to the ledger.

Holes (`find_holes`) are cut out of the text before sections are made; the verdict on a section (`section_rule`) falls
after short ones were merged upward, so that a short page is not emptied piece by piece.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from rag_pipeline.chunking.blocks import Block, Part
from rag_pipeline.chunking.boilerplate import block_key
from rag_pipeline.chunking.lines import line_starts, trimmed

DATA_URI = re.compile(r"data:[\w.+-]{1,60}/[\w.+-]{1,100}(?:;[\w=.+-]{1,80}){0,4},[^\s)\"'<>]{100,}")
BLOB_RUN = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")
BLOB_LINES = re.compile(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{60,80}={0,2}[ \t]*\r?\n[ \t]*){5,}(?:[A-Za-z0-9+/]{1,80}={0,2})?"
)
MINIFIED_LINE = 1000
"""Code points from which on a line may be a minified blob."""
MINIFIED_SPACE = 0.04
MINIFIED_MARKS = 0.15
MINIFIED_BLOCK = 0.8
WORDS_THAT_STAY = 3
"""A remnant beside a hole stays when it has this many words, however short."""
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]{2,}")
_MARK = re.compile(r"[{}\[\]()\"':;,=<>&|!?+*/\\.-]")


@dataclass(frozen=True, slots=True)
class Hole:
    start: int
    end: int
    rule: str


def find_blobs(text: str, *, start: int) -> list[Hole]:
    """What is no text whatever the format: base64 and minified lines, in order and without overlap."""
    return list(_disjoint(text, [*base64_holes(text, start), *minified_lines(text, start)]))


def find_holes(
    text: str, parts: Sequence[Part], blobs: Sequence[Hole], *, drop_comments: bool, boilerplate: frozenset[str]
) -> list[Hole]:
    """Spans to cut out, in order and without overlap; where rules overlap the first one names the hole."""
    blocks = [b for part in parts for b in part.blocks]
    found = [*blobs, *_minified_blocks(blocks, blobs)]
    if drop_comments:
        found += [Hole(b.start, b.end, "html_comment") for b in _comments(blocks)]
    if boilerplate:
        found += [Hole(b.start, b.end, "boilerplate") for b in blocks if _is_boilerplate(text, b, boilerplate)]
    return list(_disjoint(text, found))


def without(text: str, blobs: Sequence[Hole]) -> str:
    """The text with blobs blanked out, every offset as before: a blob of megabytes need not be tokenized."""
    pieces: list[str] = []
    cursor = 0
    for blob in blobs:
        pieces += [text[cursor : blob.start], " " * (blob.end - blob.start)]
        cursor = blob.end
    return "".join([*pieces, text[cursor:]]) if blobs else text


def base64_holes(text: str, start: int) -> Iterator[Hole]:
    """Data URIs, with the brackets of their link, and runs or blocks of base64."""
    for match in DATA_URI.finditer(text, start):
        low, high = match.span()
        if text[low - 1 : low] == "(" and text[high : high + 1] == ")":
            low, high = low - 1, high + 1
        yield Hole(low, high, "base64")
    for pattern in (BLOB_RUN, BLOB_LINES):
        for match in pattern.finditer(text, start):
            if _looks_encoded(match.group()):
                yield Hole(*match.span(), "base64")


def minified_lines(text: str, start: int) -> Iterator[Hole]:
    """Long lines that are nearly all marks and no space."""
    for low, high in pairwise(line_starts(text, start=start)):
        if high - low >= MINIFIED_LINE and is_minified(text[low:high]):
            yield Hole(low, high, "minified")


def _minified_blocks(blocks: Sequence[Block], blobs: Sequence[Hole]) -> Iterator[Hole]:
    """A block that is minified for the most part goes as a whole: the marks of its fence say nothing alone."""
    first = 0
    for block in blocks if blobs else ():
        while first < len(blobs) and blobs[first].end <= block.start:
            first += 1
        covered = 0
        for blob in islice(blobs, first, None):
            if blob.start >= block.end:
                break
            covered += min(blob.end, block.end) - max(blob.start, block.start) if blob.rule == "minified" else 0
        if covered > MINIFIED_BLOCK * (block.end - block.start):
            yield Hole(block.start, block.end, "minified")


def is_minified(line: str) -> bool:
    size = len(line)
    spaces = sum(1 for c in line if c.isspace())
    return spaces < MINIFIED_SPACE * size and len(_MARK.findall(line)) > MINIFIED_MARKS * size


def section_rule(text: str, blocks: Sequence[Block], *, min_chars: int, beside_hole: bool) -> str | None:
    """Why a section is rejected, or None."""
    whole = text[blocks[0].start : blocks[-1].end]
    if not has_visible(whole):
        return "whitespace"
    if not any(c.isalnum() for c in whole):
        return "separator_only"
    body = body_text(text, blocks)
    if not any(c.isalnum() for c in body):
        return "header_only" if any(b.kind == "heading" for b in blocks) else "separator_only"
    if len(body) >= min_chars or (beside_hole and word_count(body) >= WORDS_THAT_STAY):
        return None
    return "too_short"


def body_text(text: str, blocks: Iterable[Block]) -> str:
    """What stands under the headings, without rules and comments."""
    return "\n".join(
        piece
        for b in blocks
        if b.kind not in ("heading", "rule", "comment") and (piece := text[b.start : b.end].strip())
    )


def word_count(text: str) -> int:
    """Real words: two letters or more, or one CJK sign."""
    return sum(1 for _ in _WORD.finditer(text))


def has_visible(text: str) -> bool:
    """Anything that is neither white space nor zero-width."""
    return any(not c.isspace() and c not in _INVISIBLE for c in text)


_INVISIBLE = frozenset("\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\x00")


def _comments(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.kind == "comment":
            yield block
        else:
            yield from _comments(block.children)


def _is_boilerplate(text: str, block: Block, keys: frozenset[str]) -> bool:
    return block.kind != "heading" and block_key(text[block.start : block.end]) in keys


def _looks_encoded(run: str) -> bool:
    """Upper case, lower case and digits all frequent: no word, path or line of one letter is like that."""
    sample = run[:2000]
    size = len(sample)
    upper, lower = sum(c.isupper() for c in sample), sum(c.islower() for c in sample)
    return upper > 0.12 * size and lower > 0.12 * size and sum(c.isdigit() for c in sample) > 0.03 * size


def _disjoint(text: str, holes: Iterable[Hole]) -> Iterator[Hole]:
    open_hole: Hole | None = None
    for hole in sorted(holes, key=lambda h: (h.start, -h.end)):
        low, high = trimmed(text, hole.start, hole.end)
        if high <= low:
            continue
        if open_hole is not None and low < open_hole.end:
            open_hole = Hole(open_hole.start, max(open_hole.end, high), open_hole.rule)
            continue
        if open_hole is not None:
            yield open_hole
        open_hole = Hole(low, high, hole.rule)
    if open_hole is not None:
        yield open_hole
