"""Blocks to atoms, and atoms packed into pieces of even size; used for capping sections and for making children.

An atom is what is not cut further at the given size: a block that fits, a table row, a piece of an oversize block.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag_pipeline.chunking.blocks import CODE_KINDS, Block
from rag_pipeline.chunking.langchain_split import LINES, PROSE, separators, split_span
from rag_pipeline.chunking.lines import line_starts
from rag_pipeline.chunking.sizes import Measure

NEAR = 0.7
"""A cut is looked for from this share of a piece's fair part on."""
LONG_HEADING = 200
"""Code points up to which a heading, or a run of them, never stands without the text it introduces."""
LEAD_SHARE = 0.5
"""A table header that takes more than this of a child's size is not repeated."""


@dataclass(frozen=True, slots=True)
class Atom:
    start: int
    end: int
    kind: str
    lead: tuple[int, int] | None = None
    """Span of the table header to repeat where a piece begins with this atom."""
    depth: int = 0
    """How deep inside a block it begins: 0 at a block, 1 at a list item or a table row, more within."""


@dataclass(frozen=True, slots=True)
class Piece:
    """`[start, end)` and what is repeated in front of it."""

    start: int
    end: int
    kind: str
    lead: tuple[int, int] | None = None


def pieces(text: str, blocks: Sequence[Block], measure: Measure) -> list[Piece]:
    """Blocks of one run as pieces within the measure's budget, in order, covering them all."""
    return pack(text, list(atoms(text, blocks, measure)), measure)


def atoms(text: str, blocks: Sequence[Block], measure: Measure) -> Iterator[Atom]:
    """A heading stays with the block it introduces, trailing ones with the block before."""
    last: Atom | None = None
    opened: int | None = None
    for block in blocks:
        if opened is not None and block.kind == "rule":
            continue
        if block.kind == "heading" and block.end - block.start <= LONG_HEADING:
            if opened is None:
                opened = block.start
            elif block.end - opened > LONG_HEADING and measure.span(opened, block.end) * 2 > measure.budget:
                if last is not None:
                    yield last
                last, opened = Atom(opened, block.start, "prose"), block.start
            continue
        used = measure.span(opened, block.start) if opened is not None else 0
        room = max(measure.budget - used, measure.budget // 3, 1)
        for atom in _atoms(text, block, room, measure):
            if last is not None:
                yield last
            last = atom if opened is None else Atom(opened, atom.end, atom.kind)
            opened = None
    if opened is not None:
        end = blocks[-1].end
        if last is not None and measure.span(last.start, end) <= measure.most:
            last = replace(last, end=end)
        else:
            if last is not None:
                yield last
            last = Atom(opened, end, "prose")
    if last is not None:
        yield last


def _atoms(text: str, block: Block, room: int, measure: Measure, *, depth: int = 0) -> Iterator[Atom]:
    kind = "table" if block.kind == "table" else "code" if block.kind in CODE_KINDS else "prose"
    if block.kind == "table" and block.head is not None:
        yield from _rows(text, block, room, measure, depth=depth)
    elif measure.span(block.start, block.end) <= room:
        yield Atom(block.start, block.end, kind, depth=depth)
    elif block.children:
        for child in block.children:
            below = depth if child.start == block.start else depth + 1
            yield from _atoms(text, child, room, measure, depth=below)
    else:
        by = separators("html") if block.kind == "html" else PROSE
        if kind == "code":
            by = separators(block.language)
        for start, end in split_span(text, block.start, block.end, size=room, length=measure.string, by=by):
            yield Atom(start, end, kind, depth=depth if start == block.start else depth + 2)


def _rows(text: str, block: Block, room: int, measure: Measure, *, depth: int) -> Iterator[Atom]:
    """Rows of a table; the first one carries the header rows, later ones name them as their lead."""
    assert block.head is not None
    fits = measure.span(block.start, block.end) <= room
    if fits and block.start == block.head[0]:
        yield Atom(block.start, block.end, "table", depth=depth)
        return
    head = block.head
    lead = head if measure.span(*head) <= LEAD_SHARE * room else None
    room_below = room - (measure.span(*head) if lead is not None else 0)
    borders = line_starts(text, start=block.start, end=block.end)
    rows = list(pairwise(borders))
    if block.start < head[1]:
        with_head = [r for r in rows if r[0] < head[1]]
        rest = rows[len(with_head) :]
        first_end = rest[0][1] if rest and measure.span(block.start, rest[0][1]) <= room else with_head[-1][1]
        for start, end in split_span(text, block.start, first_end, size=room, length=measure.string, by=LINES):
            yield Atom(start, end, "table", depth=depth if start == block.start else depth + 2)
        rows = [r for r in rows if r[0] >= first_end]
    for start, end in rows:
        if measure.span(start, end) <= room_below:
            yield Atom(start, end, "table", lead, depth + 1)
        else:
            cut = split_span(text, start, end, size=max(room_below, 1), length=measure.string, by=(r"(?=\|)", *LINES))
            yield from (Atom(low, high, "table", lead, depth + 2) for low, high in cut)


def pack(text: str, found: Sequence[Atom], measure: Measure) -> list[Piece]:
    """Neighbours together up to the budget, evenly: each cut falls where the piece is near its fair part.

    Near that point the cut goes before the atom that stands highest: better between list items than inside one, and
    not after a line that ends in a colon.
    """
    sizes = [measure.span(a.start, a.end) for a in found]
    out: list[Piece] = []
    first, left = 0, sum(sizes)
    while first < len(found):
        after = _end_of_piece(text, found, sizes, first, left, measure)
        out.append(_piece(found[first:after]))
        left -= sum(sizes[first:after])
        first = after
    return out


def _end_of_piece(
    text: str, found: Sequence[Atom], sizes: Sequence[int], first: int, left: int, measure: Measure
) -> int:
    lead = found[first].lead
    used = measure.span(*lead) if lead is not None else 0
    if used + left <= measure.most:
        return len(found)
    goal = left / max(-(-left // max(measure.budget, 1)), 1)
    filled: list[int] = []
    after = first
    while after < len(found):
        if after > first and (used + sizes[after] > measure.budget or used + sizes[after] / 2 > goal):
            break
        used += sizes[after]
        filled.append(used)
        after += 1
    if after == len(found):
        return after
    enough = [i for i in range(first + 1, after + 1) if filled[i - first - 1] >= NEAR * goal]
    return min(enough, key=lambda i: (_rank(text, found[i - 1], found[i]), -i), default=after)


def _rank(text: str, before: Atom, atom: Atom) -> int:
    """How bad a cut in front of `atom` is."""
    colon = text[max(before.start, before.end - 80) : before.end].rstrip().endswith((":", "："))
    return atom.depth + (1 if colon else 0)


def _piece(run: Sequence[Atom]) -> Piece:
    return Piece(run[0].start, run[-1].end, kind_of(a.kind for a in run), run[0].lead)


def kind_of(kinds: Iterable[str]) -> str:
    """ "code" or "table" where everything is; else "prose"."""
    found = set(kinds)
    return found.pop() if len(found) == 1 else "prose"
