"""What of a passage can be quoted by itself: a sentence, a table row, a few lines of code. Spans of its own text.

Headings, table headers and rules are no answers; what stands under a heading or a table's header carries it, so that a
question's words may be found there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

from rag_pipeline.schema import Passage
from rag_pipeline.text.sentences import sentence_spans

MAX_UNIT_CHARS = 600
"""A longer one is cut between lines, or where there are none, between words."""

LEAST_LETTERS = 2

SHORT_SENTENCE = 32
"""Characters; a shorter one ("**Bind tools.**") is quoted with what follows it in its paragraph or list item."""

_FENCE = regex.compile(r"[ \t>]{0,20}(`{3,}+|~{3,}+)")
_HEADING = regex.compile(r"[ \t]{0,3}#{1,6}[ \t]++(.*)")
_UNDERLINE = regex.compile(r"[ \t]{0,8}(?:={3,}+|-{3,}+|~{3,}+)\s*+")
_ROW = regex.compile(r"[ \t>]{0,20}\|")
_RULE = regex.compile(r"[\s|:=+*_-]++")
_HEADER_RULE = regex.compile(r"[ \t>]{0,20}\|[\s|:]*+-[\s|:-]*+")
_BARS = regex.compile(r"[\s|>]++")
_ITEM = regex.compile(r"[ \t>]{0,20}(?:[-*+•]|\d{1,3}[.)])[ \t]++")


@dataclass(frozen=True, slots=True)
class Unit:
    number: int
    """Of its passage."""
    order: int
    """Its place among all units, in the order of the context."""
    text: str
    """As it stands in the passage."""
    under: str
    """Title and headings it stands under, and for a table's row the header."""
    kind: str
    """"sentence", "row" or "code"."""


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    kind: str
    heading: str


def units_of(passages: Iterable[Passage]) -> tuple[Unit, ...]:
    found: list[Unit] = []
    for passage in passages:
        path = " ".join((passage.title, *(title for _, title in passage.headers)))
        for piece in passage.pieces:
            for block in _blocks(piece):
                for start, end in _spans(piece, block):
                    text = piece[start:end]
                    if len(regex.findall(r"\w", text)) >= LEAST_LETTERS:
                        under = f"{path} {block.heading}".strip()
                        found.append(Unit(passage.number, len(found), text, under, block.kind))
    return tuple(found)


def _blocks(text: str) -> Iterator[_Block]:
    """Runs of lines of one kind; a list item and a table row each by itself."""
    heading, kind, start, at, fence = "", "", 0, 0, ""
    header, rows = "", 0  # of the table that the lines are in
    for line in text.splitlines(keepends=True):
        here, at = at, at + len(line)
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" \t>`~\r\n"):
                yield _Block(start, here, "code", heading)
                kind, fence = "", ""
            continue
        now = _kind(line, mark is not None)
        if kind == "sentence" and _UNDERLINE.fullmatch(line) and "\n" not in text[start : here - 1]:
            heading, kind = text[start:here].strip(), ""
            continue
        ruled = not now and _HEADER_RULE.fullmatch(line) is not None
        if ruled and kind == "row" and rows == 1:
            header, kind = _BARS.sub(" ", text[start:here]).strip(), ""
        if kind and (now != kind or now in ("row", "item")) and not (kind == "item" and now == "sentence"):
            yield _Block(start, here, "sentence" if kind == "item" else kind, _above(heading, kind, header))
            kind = ""
        if now == "row":
            rows += 1
        elif not ruled:
            header, rows = "", 0
        if now == "fence":
            fence, start, kind = mark[1] if mark else "", at, "code"
        elif now == "heading":
            found = _HEADING.match(line)
            heading = found[1].strip(" #\r\n") if found else heading
        elif now and not kind:
            start, kind = here, now
    if kind:
        yield _Block(start, at, "sentence" if kind == "item" else kind, _above(heading, kind, header))


def _above(heading: str, kind: str, header: str) -> str:
    return f"{heading} {header}".strip() if kind == "row" else heading


def _kind(line: str, is_fence: bool) -> str:
    """ "" for what belongs to no block: blank lines, rules, the line under a table's header."""
    if is_fence:
        return "fence"
    if _HEADING.match(line):
        return "heading"
    if _RULE.fullmatch(line):
        return ""
    if _ROW.match(line):
        return "row"
    return "item" if _ITEM.match(line) else "sentence"


def _spans(text: str, block: _Block) -> Iterator[tuple[int, int]]:
    inside = text[block.start : block.end]
    if block.kind == "sentence":
        found: Iterable[tuple[int, int]] = _joined(sentence_spans(inside))
    elif block.kind == "code":
        found = [match.span() for match in regex.finditer(r"\S(?:[^\n]|\n(?![^\S\n]*+\n))*+", inside)]
    else:
        found = [(0, len(inside))]
    for start, behind in found:
        end = start + len(inside[start:behind].rstrip())
        for low, high in _short(inside, start, end):
            yield block.start + low, block.start + high


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    held: tuple[int, int] | None = None
    for start, end in spans:
        begin = start if held is None else held[0]
        held = (begin, end) if end - begin < SHORT_SENTENCE else None
        if held is None:
            yield begin, end
    if held is not None:
        yield held


def _short(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > MAX_UNIT_CHARS:
        cut = text.rfind("\n", start + 1, start + MAX_UNIT_CHARS)
        if cut < 0:
            cut = text.rfind(" ", start + MAX_UNIT_CHARS // 2, start + MAX_UNIT_CHARS)
        cut = cut if cut > 0 else start + MAX_UNIT_CHARS
        yield start, cut
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end
