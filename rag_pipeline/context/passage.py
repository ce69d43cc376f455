"""What the formatter is given and what it presents: frozen values, no text is made here."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rag_pipeline.schema import Hit

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Parent:
    """One section that may be presented, or one chunk where parents are off."""

    section_id: str
    doc_id: str
    title: str
    headers: tuple[tuple[int, str], ...]
    text: str
    hits: tuple[Span, ...]
    """Half-open spans in `text`, best hit first."""
    relevance: float | None = None
    """Calibrated probability; None where there is none. One that is not finite becomes None."""
    locator: str | None = None

    def __post_init__(self) -> None:
        if self.relevance is not None and not math.isfinite(self.relevance):
            object.__setattr__(self, "relevance", None)


@dataclass(frozen=True, slots=True)
class Presented:
    """`number` is what `[n]` in an answer refers to."""

    number: int
    parent: Parent
    spans: tuple[Span, ...]
    """What of `parent.text` is shown."""
    text: str
    """As it stands in the context: cut, and with delimiters and citation marks escaped."""

    @property
    def is_cut(self) -> bool:
        return self.spans != ((0, len(self.parent.text)),)


def parents_of(hits: tuple[Hit, ...], *, section_texts: Mapping[str, str] | None = None) -> tuple[Parent, ...]:
    """In rank order, each section once, with the spans of all its hits.

    `section_texts` has the sections' source text by id; a section without one, or None, shows the hit's own text.
    """
    by_section: dict[str, list[Hit]] = {}
    for hit in hits:
        by_section.setdefault(hit.section_id, []).append(hit)
    return tuple(_parent(found, (section_texts or {}).get(section)) for section, found in by_section.items())


def _parent(hits: list[Hit], section_text: str | None) -> Parent:
    best = hits[0]
    if section_text is None:
        text = best.lead + best.content
        spans: tuple[Span, ...] = ((0, len(text)),)
    else:
        text = section_text
        spans = tuple((hit.start - hit.section_start, hit.end - hit.section_start) for hit in hits)
    return Parent(
        best.section_id, best.doc_id, best.title, best.headers, text, spans, best.relevance_score, best.locator
    )
