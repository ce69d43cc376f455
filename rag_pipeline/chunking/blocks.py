"""Blocks and parts: what every sectioner hands on, as exact code-point spans of the document text.

How a format is read belongs to its sectioner; what becomes of the blocks to sections.py, garbage.py and split.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from rag_pipeline.schema import LedgerEntry

Kind = Literal[
    "heading",
    "paragraph",
    "fence",
    "indented_code",
    "code",
    "table",
    "list",
    "blockquote",
    "html",
    "comment",
    "rule",
    "definition",
]
Headers = tuple[tuple[int, str], ...]

CODE_KINDS = frozenset({"fence", "indented_code", "code"})


@dataclass(frozen=True, slots=True)
class Block:
    """One block `[start, end)`; `children`, where there are any, cover it without a gap."""

    start: int
    end: int
    kind: Kind
    level: int = 0
    """Of a heading."""
    title: str = ""
    """Of a heading, as plain text."""
    language: str = ""
    """Of code: the fence's info word or the file's language."""
    head: tuple[int, int] | None = None
    """Of a table: the span of its header and separator rows; kept when the block is clipped to later rows."""
    children: tuple["Block", ...] = ()

    def clip(self, start: int, end: int) -> "Block":
        """The part of the block inside `[start, end)`."""
        start, end = max(start, self.start), min(end, self.end)
        if (start, end) == (self.start, self.end):
            return self
        children = tuple(c.clip(start, end) for c in self.children if c.start < end and c.end > start)
        return replace(self, start=start, end=end, children=children)


@dataclass(frozen=True, slots=True)
class Part:
    """Blocks in a row under one heading path; `headers` is empty above the first heading."""

    headers: Headers
    blocks: tuple[Block, ...]

    @property
    def start(self) -> int:
        return self.blocks[0].start

    @property
    def end(self) -> int:
        return self.blocks[-1].end


@dataclass(frozen=True, slots=True)
class Parsed:
    parts: tuple[Part, ...]
    notices: tuple[LedgerEntry, ...] = ()


def fill_gaps(text: str, blocks: Iterable[Block], *, start: int, end: int) -> list[Block]:
    """Blocks of one level with every gap that holds more than white space made a block of its own.

    Parsers leave such gaps: CommonMark's link definitions, for one, yield no token.
    """
    out: list[Block] = []
    cursor = start
    for block in blocks:
        if block.end <= cursor:
            continue
        block = block.clip(cursor, end)
        if text[cursor : block.start].strip():
            out.append(Block(cursor, block.start, "definition"))
        out.append(block)
        cursor = block.end
    if text[cursor:end].strip():
        out.append(Block(cursor, end, "definition"))
    return out


def parts_by_heading(blocks: Iterable[Block]) -> tuple[Part, ...]:
    """Each heading block opens a part; its path is the open headings of lower level, then itself."""
    parts: list[Part] = []
    path: list[tuple[int, str]] = []
    current: list[Block] = []
    for block in blocks:
        if block.kind == "heading":
            if current:
                parts.append(Part(tuple(path), tuple(current)))
            current = []
            path = [entry for entry in path if entry[0] < block.level]
            if block.title:
                path.append((block.level, block.title))
        current.append(block)
    if current:
        parts.append(Part(tuple(path), tuple(current)))
    return tuple(parts)
