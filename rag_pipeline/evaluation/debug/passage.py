"""Which text is expected, and which chunks of the build hold it: `DOC`, `DOC#heading`, `DOC#quote`, or a label."""

import json
from dataclasses import dataclass, replace

import numpy as np

from rag_pipeline.evaluation.debug.trace import rows_in
from rag_pipeline.evaluation.eval_set import Judgement
from rag_pipeline.evaluation.quote import occurrences
from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.rank import Rows
from rag_pipeline.retrieval.scope import Mask

_SECTIONS = 'SELECT start, "end", headers FROM sections WHERE doc_id = ? ORDER BY row'

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """One passage of one document; without `part` and `span` the whole document."""

    document: str
    part: str = ""
    """A heading or heading path joined by " > ", or a quote."""
    span: tuple[int, int] | None = None

    def __str__(self) -> str:
        part = self.part or (f"{self.span[0]}:{self.span[1]}" if self.span else "")
        return f"{self.document}#{part}" if part else self.document


@dataclass(frozen=True, slots=True)
class Passage:
    """Where it stands in the stored text of the document that is indexed for it."""

    document: str
    spans: Spans
    """Nothing where the document does not hold it."""
    verbatim: bool
    """A quote or a span: showing a part of its section is not showing it."""


@dataclass(frozen=True, slots=True)
class Target:
    """The chunks that count, by row."""

    passage: Passage
    rows: Rows
    """All chunks of the sections that hold a part of the passage: any of them brings the section."""
    holding: Rows
    """Those of them that hold a part of the passage itself."""
    sections: frozenset[int]

    def within(self, mask: Mask) -> "Target":
        """What of it the mask allows."""
        return replace(self, rows=rows_in(mask, self.rows), holding=rows_in(mask, self.holding))


def parse_expected(given: str, known: frozenset[str]) -> Expected:
    """The longest part before a `#` that names an input is the document; else what stands before the first `#`."""
    if given in known:
        return Expected(given)
    cuts = [at for at, character in enumerate(given) if character == "#"]
    for at in reversed(cuts):
        if given[:at] in known:
            return Expected(given[:at], given[at + 1 :].strip())
    document, _, part = given.partition("#")
    return Expected(document, part.strip())


def expected_of(judgement: Judgement) -> Expected:
    if judgement.start is not None and judgement.end is not None:
        return Expected(judgement.document, span=(judgement.start, judgement.end))
    return Expected(judgement.document, judgement.quote or judgement.section or "")


def find_passage(index: Index, expected: Expected, *, document: str, text: str) -> Passage:
    """A part is a heading where a section's path ends with it, else a quote; every occurrence counts."""
    if expected.span is not None:
        return Passage(document, (expected.span,) if expected.span[1] <= len(text) else (), verbatim=True)
    if not expected.part:
        return Passage(document, ((0, len(text)),), verbatim=False)
    if headed := _headed(index, document, expected.part):
        return Passage(document, headed, verbatim=False)
    return Passage(document, occurrences(text, expected.part), verbatim=True)


def target_of(index: Index, passage: Passage) -> Target:
    """Whoever may see it. Empty where no chunk holds any of it."""
    layout = index.layout
    with index.cursor() as cursor:
        number = cursor.execute("SELECT row FROM documents WHERE doc_id = ?", [passage.document]).fetchall()[0][0]
    own = np.flatnonzero(layout.document == number)
    inside = np.zeros(len(own), np.bool_)
    held = np.zeros(len(own), np.bool_)
    for start, end in passage.spans:
        inside |= (layout.start[own] < end) & (start < layout.end[own])
        held |= (layout.section_start[own] < end) & (start < layout.section_end[own])
    sections = frozenset(int(s) for s in layout.section[own[held]])
    return Target(passage, own[held], own[inside] if inside.any() else own[held], sections)


def _headed(index: Index, doc_id: str, part: str) -> Spans:
    wanted = tuple(piece.strip() for piece in part.split(" > "))
    with index.cursor() as cursor:
        found = cursor.execute(_SECTIONS, [doc_id]).fetchall()
    return tuple(
        (start, end) for start, end, headers in found if tuple(json.loads(headers).values())[-len(wanted) :] == wanted
    )
