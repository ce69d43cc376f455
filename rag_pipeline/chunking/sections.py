"""Parts to sections: cut around holes, short ones merged upward, large ones capped at block borders."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise

from rag_pipeline.chunking.blocks import Block, Headers, Part
from rag_pipeline.chunking.garbage import Hole, body_text
from rag_pipeline.chunking.sizes import Measure
from rag_pipeline.chunking.split import pieces

_MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class Draft:
    """A section before it has an id: parts in a row, nothing between them but white space."""

    parts: tuple[Part, ...]
    beside_hole: bool

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def end(self) -> int:
        return self.parts[-1].end

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(b for p in self.parts for b in p.blocks)

    def headers_of(self, spans: Sequence[tuple[int, int]]) -> list[Headers]:
        """For each span, in order: the path of the first part with text under its heading there, else of the first."""
        out: list[Headers] = []
        for inside in parts_inside(self.parts, spans):
            with_body = (p.headers for p in inside if any(b.kind != "heading" for b in p.blocks))
            out.append(next(with_body, inside[0].headers if inside else self.parts[0].headers))
        return out


def make_drafts(
    text: str, parts: Sequence[Part], holes: Sequence[Hole], *, min_chars: int, least: int, measure: Measure
) -> list[Draft]:
    """Sections in document order; together with the holes they cover what the parts cover.

    `measure` is the cap; a section smaller than `least`, in the same unit, is packed together with its neighbours.
    """
    drafts: list[Draft] = []
    for run in runs_between(text, parts, holes):
        groups = merge_short(text, run.parts, min_chars=min_chars, goes_on=run.goes_on)
        capped = [d for group in groups for d in cap(text, Draft(tuple(group), run.beside_hole), measure)]
        drafts += pack(capped, least=least, measure=measure)
    return drafts


@dataclass(frozen=True, slots=True)
class Run:
    """Parts no hole interrupts."""

    parts: tuple[Part, ...]
    beside_hole: bool = False
    goes_on: bool = False
    """The last part continues behind the hole."""


def runs_between(text: str, parts: Sequence[Part], holes: Sequence[Hole]) -> list[Run]:
    """The parts without the holes; what is only white space between two holes is no run."""
    if not holes or not parts:
        return [Run(tuple(parts))] if parts else []
    borders = [0, *(border for hole in holes for border in (hole.start, hole.end)), max(parts[-1].end, holes[-1].end)]
    spans = list(islice(pairwise(borders), 0, None, 2))
    found = [run for run in parts_inside(parts, spans) if run and text[run[0].start : run[-1].end].strip()]
    following = [run[0].headers for run in found[1:]]
    return [
        Run(tuple(run), beside_hole=True, goes_on=i < len(following) and following[i] == run[-1].headers)
        for i, run in enumerate(found)
    ]


def parts_inside(parts: Sequence[Part], spans: Iterable[tuple[int, int]]) -> Iterator[list[Part]]:
    """For each span, in order, what lies in it of the parts, clipped; one pass over all blocks."""
    flat = [(number, block) for number, part in enumerate(parts) for block in part.blocks]
    first = 0
    for low, high in spans:
        while first < len(flat) and flat[first][1].end <= low:
            first += 1
        last = first
        while last < len(flat) and flat[last][1].start < high:
            last += 1
        inside = ((number, block.clip(low, high)) for number, block in flat[first:last])
        yield [
            Part(parts[number].headers, tuple(block for _, block in run))
            for number, run in groupby(inside, key=lambda entry: entry[0])
        ]


def merge_short(text: str, run: Sequence[Part], *, min_chars: int, goes_on: bool = False) -> list[list[Part]]:
    """A part with less than `min_chars` of body joins what stands before it; one without a home, what follows.

    A heading without body, or with little, joins its own first child. One whose text begins behind a hole stays alone:
    it would read as the end of a section it has nothing to do with.
    """
    groups: list[list[Part]] = []
    homeless = False
    total = 0
    for i, part in enumerate(run):
        body = len(body_text(text, part.blocks))
        is_last = i + 1 == len(run)
        child_follows = not is_last and _is_below(run[i + 1].headers, part.headers)
        introduces = is_last and goes_on and body == 0
        if groups and not introduces and (homeless or (_is_short(body, min_chars) and not child_follows)):
            groups[-1].append(part)
            total += body
            homeless = homeless and _is_short(total, min_chars)
        else:
            groups.append([part])
            total = body
            homeless = _is_short(body, min_chars) and not introduces
    if homeless and len(groups) > 1:
        last = groups.pop()
        groups[-1] += last
    return groups


def pack(drafts: Sequence[Draft], *, least: int, measure: Measure) -> list[Draft]:
    """Neighbours joined until each reaches `least`, as long as they fit the cap together.

    A parent is what a reader is handed: an introduction of two lines says little without the section it introduces, and
    a file's leading comment little without its first definition.
    """
    packed: list[Draft] = []
    for draft in drafts:
        if packed:
            before = packed[-1]
            small = min(measure.span(before.start, before.end), measure.span(draft.start, draft.end)) < least
            if small and measure.span(before.start, draft.end) <= measure.budget:
                packed[-1] = Draft(before.parts + draft.parts, before.beside_hole or draft.beside_hole)
                continue
        packed.append(draft)
    return packed


def _is_short(body: int, min_chars: int) -> bool:
    return body == 0 or body < min_chars


def _is_below(child: Headers, parent: Headers) -> bool:
    return bool(parent) and len(child) > len(parent) and child[: len(parent)] == parent


def cap(text: str, draft: Draft, measure: Measure) -> list[Draft]:
    """The section itself where it fits, else pieces of even size cut at block borders."""
    if measure.span(draft.start, draft.end) <= measure.budget:
        return [draft]
    spans = [(p.start, p.end) for p in pieces(text, draft.blocks, measure)]
    return [
        Draft(tuple(inside), draft.beside_hole)
        for inside in parts_inside(draft.parts, spans)
        if inside and text[inside[0].start : inside[-1].end].strip()
    ]


def section_headers(text: str, draft: Draft, *, title: str) -> Headers:
    """The path that holds for most of the section's body, else what its parts' paths share; never empty."""
    paths = [p.headers for p in draft.parts]
    sizes = [len(body_text(text, p.blocks)) for p in draft.parts]
    largest = max(range(len(paths)), key=lambda i: sizes[i])
    dominant = len(paths) == 1 or sizes[largest] > _MOSTLY * sum(sizes)
    chosen = paths[largest] if dominant else _shared(paths)
    return chosen or ((1, title),)


def _shared(paths: Sequence[Headers]) -> Headers:
    shared = paths[0]
    for path in paths[1:]:
        n = 0
        while n < min(len(shared), len(path)) and shared[n] == path[n]:
            n += 1
        shared = shared[:n]
    return shared
