"""How much of the labelled text was returned, and how much else came with it: recall, precision and IoU over spans.

After Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", 2024, who count tokens; here as in their
code, lengths are code points. Unlike there, text returned twice counts once: the serving path returns a passage once.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

Span = tuple[str, int, int]
"""Document id, start, end: half-open, in code points."""


@dataclass(frozen=True, slots=True)
class Overlap:
    recall: float
    """|returned and labelled| / |labelled|."""
    precision: float
    """|returned and labelled| / |returned|; 0 where nothing was returned."""
    iou: float
    """|returned and labelled| / |returned or labelled|."""


def token_overlap(returned: Iterable[Span], labelled: Iterable[Span]) -> Overlap:
    """Raises ValueError where no text is labelled."""
    mine, theirs = _union(returned), _union(labelled)
    labelled_size, returned_size = _size(theirs), _size(mine)
    if not labelled_size:
        raise ValueError("no text is labelled for this question; score questions without an answer apart")
    both = returned_size + labelled_size - _size(_union([*mine, *theirs]))
    return Overlap(
        recall=both / labelled_size,
        precision=both / returned_size if returned_size else 0.0,
        iou=both / (returned_size + labelled_size - both),
    )


def _union(spans: Iterable[Span]) -> list[Span]:
    """Disjoint spans that cover the same text."""
    by_document: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for document, start, end in spans:
        if end > start:
            by_document[document].append((start, end))
    out: list[Span] = []
    for document, found in by_document.items():
        begin, stop = min(found)
        for start, end in sorted(found):
            if start > stop:
                out.append((document, begin, stop))
                begin, stop = start, end
            stop = max(stop, end)
        out.append((document, begin, stop))
    return out


def _size(spans: Iterable[Span]) -> int:
    return sum(end - start for _, start, end in spans)
