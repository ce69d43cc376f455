"""What the labels of an eval set mean in one build: which of its sections, and which documents, answer each question.

Pure: works from document texts and section spans, whatever made them. A label names text, so two chunkings of one
corpus resolve the same labels to their own sections.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_pipeline.evaluation.eval_set import EvalSet, Judgement
from rag_pipeline.evaluation.quote import occurrences
from rag_pipeline.schema import Section

Span = tuple[str, int, int]
"""Document id, start, end."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """What answers one question; grades are the greatest of the labels that meet there."""

    query_id: str
    sections: Mapping[str, int]
    """Section id -> grade. A labelled passage that no section holds stands here under an id that can't be retrieved, so
    that a build that loses it is measured as missing it."""
    documents: Mapping[str, int]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A label whose passage is not, or not unambiguously, in the corpus."""

    query_id: str
    document: str
    line: int
    """Line of the judgement."""
    reason: str


@dataclass(frozen=True, slots=True)
class Resolution:
    relevance: Mapping[str, Relevance]
    """By query id: the answerable questions whose labels all resolve."""
    unresolved: tuple[Unresolved, ...]
    not_indexed: tuple[Unresolved, ...]
    """Labels whose passage is in a document but, in part or whole, in none of its sections."""
    answerable: int

    @property
    def coverage(self) -> float:
        """Resolved share of the answerable questions; 1 where there is none."""
        return len(self.relevance) / self.answerable if self.answerable else 1.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """The stored side of one build, by document id."""

    texts: Mapping[str, str]
    sections: Mapping[str, Sequence[Section]]
    canonical: Mapping[str, str]
    """Duplicates and the document that stands for them in the index."""

    @classmethod
    def of(
        cls, texts: Mapping[str, str], sections: Iterable[Section], *, canonical: Mapping[str, str] | None = None
    ) -> "Corpus":
        grouped: dict[str, list[Section]] = defaultdict(list)
        for section in sections:
            grouped[section.doc_id].append(section)
        return cls(
            texts, {doc: sorted(s, key=lambda s: (s.start, s.end)) for doc, s in grouped.items()}, canonical or {}
        )


def resolve(eval_set: EvalSet, corpus: Corpus) -> Resolution:
    """A question resolves when every label of it does; one that can't be scored alike in two builds is in neither."""
    relevance: dict[str, Relevance] = {}
    unresolved: list[Unresolved] = []
    not_indexed: list[Unresolved] = []
    judgements_of = eval_set.judgements_of
    for query in eval_set.answerable:
        sections: dict[str, int] = {}
        documents: dict[str, int] = {}
        spans: list[Span] = []
        complete = bool(judgements_of[query.id])
        for judgement in judgements_of[query.id]:
            found = locate(judgement, corpus)
            if isinstance(found, str):
                complete = False
                unresolved.append(Unresolved(query.id, judgement.document, judgement.line, found))
                continue
            doc_id, passages = found
            documents[doc_id] = max(judgement.grade, documents.get(doc_id, 0))
            lost = False
            for start, end in passages:
                spans.append((doc_id, start, end))
                held = [s for s in corpus.sections.get(doc_id, ()) if s.start < end and start < s.end]
                lost = lost or not held
                for section_id in [s.section_id for s in held] or [f"{doc_id}@{start}:{end} (in no section)"]:
                    sections[section_id] = max(judgement.grade, sections.get(section_id, 0))
            if lost:
                reason = "no section holds the labelled passage; see the build's ledger for why it was filtered"
                not_indexed.append(Unresolved(query.id, judgement.document, judgement.line, reason))
        if complete:
            relevance[query.id] = Relevance(query.id, sections, documents, tuple(dict.fromkeys(spans)))
    return Resolution(relevance, tuple(unresolved), tuple(not_indexed), answerable=len(eval_set.answerable))


def locate(judgement: Judgement, corpus: Corpus) -> tuple[str, tuple[tuple[int, int], ...]] | str:
    """The document that holds the labelled passage and its spans there, or why it can't be told."""
    name = judgement.document
    if name not in corpus.texts:
        return f"unknown document {name!r}"
    doc_id = corpus.canonical.get(name, name)
    found = _passage(judgement, doc_id, corpus.texts.get(doc_id, corpus.texts[name]), corpus)
    if isinstance(found, str) and doc_id != name:
        # Else the reason would name a document that no label does.
        return (
            f"{name} was taken as a duplicate of {doc_id}, which has the same text and is found in its place: {found}"
        )
    return found


def _passage(
    judgement: Judgement, doc_id: str, text: str, corpus: Corpus
) -> tuple[str, tuple[tuple[int, int], ...]] | str:
    """The same, in the document that stands for the labelled one."""
    if judgement.start is not None and judgement.end is not None:
        if judgement.end > len(text):
            return f"{doc_id} has {len(text)} characters, the span ends at {judgement.end}"
        if judgement.quote is not None and text[judgement.start : judgement.end] != judgement.quote:
            return f"the quote is not at {judgement.start}:{judgement.end} of {doc_id}"
        return doc_id, ((judgement.start, judgement.end),)
    if judgement.quote is not None:
        return _only(occurrences(text, judgement.quote), "quote", judgement.quote, doc_id)
    if judgement.section is not None:
        return _section(judgement.section, text, doc_id, corpus.sections.get(doc_id, ()))
    return doc_id, ((0, len(text)),)


def _section(
    label: str, text: str, doc_id: str, sections: Sequence[Section]
) -> tuple[str, tuple[tuple[int, int], ...]] | str:
    """Sections whose heading path ends with the label; else, where a chunker merged them away, the heading's line."""
    wanted = tuple(part.strip() for part in label.split(" > "))
    paths = {s.headers for s in sections if tuple(t for _, t in s.headers)[-len(wanted) :] == wanted}
    if len(paths) > 1:
        return f"{len(paths)} headings of {doc_id} end with {label!r}; write more of the path, joined by ' > '"
    if paths:
        return doc_id, tuple((s.start, s.end) for s in sections if s.headers in paths)
    lines: list[tuple[int, int]] = []
    offset = 0
    for line in text.split("\n"):
        if line.strip().strip("#").strip() == wanted[-1]:
            lines.append((offset, offset + len(line)))
        offset += len(line) + 1
    return _only(tuple(lines), "heading", label, doc_id)


def _only(
    found: tuple[tuple[int, int], ...], what: str, wanted: str, doc_id: str
) -> tuple[str, tuple[tuple[int, int], ...]] | str:
    short = wanted if len(wanted) <= 60 else f"{wanted[:57]}..."
    if len(found) == 1:
        return doc_id, found
    if not found:
        return f"{doc_id} does not hold the {what} {short!r}"
    return f"{doc_id} holds the {what} {short!r} {len(found)} times; it must occur once"
