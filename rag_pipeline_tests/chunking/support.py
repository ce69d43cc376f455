"""Documents for the chunking tests, and the properties every chunking must have."""

from functools import partial

from rag_pipeline.chunking.assemble import DocumentChunks
from rag_pipeline.chunking.chunk import chunk_document
from rag_pipeline.schema import Document
from rag_pipeline.settings.build import ChunkingSettings
from rag_pipeline.text.tokenizer import WordTokenizer, count_many

WORDS = WordTokenizer()
COUNT = partial(count_many, WORDS)


def document(
    text: str,
    *,
    format: str = "markdown",
    title: str = "Doc",
    doc_id: str = "doc.md",
    body_start: int = 0,
    description: str | None = None,
    canonical_id: str | None = None,
) -> Document:
    return Document(
        doc_id,
        doc_id,
        text,
        format,
        "",
        "",
        title,
        body_start=body_start,
        description=description,
        canonical_id=canonical_id,
    )


def chunk(
    source: str | Document,
    *,
    limit: int = 256,
    boilerplate: frozenset[str] = frozenset(),
    format: str = "markdown",
    **settings: object,
) -> DocumentChunks:
    """Chunks by word counts; short sections stay apart unless `min_chars` or `section_min_tokens` says otherwise."""
    chosen = ChunkingSettings(**{"min_chars": 0, "section_min_tokens": 0, **settings})
    made = source if isinstance(source, Document) else document(source, format=format)
    return chunk_document(made, chosen, WORDS, limit=limit, boilerplate=boilerplate)


def paths(made: DocumentChunks) -> list[tuple[str, ...]]:
    return [tuple(title for _, title in s.headers) for s in made.sections]


def texts(made: DocumentChunks) -> list[str]:
    return [c.text for c in made.chunks]


def rules(made: DocumentChunks) -> list[tuple[str, str]]:
    return [(e.outcome, e.rule) for e in made.ledger]


def assert_sound(source: Document, made: DocumentChunks, *, limit: int, complete: bool = True) -> None:
    """Spans are exact and nested, sections in order and apart, nothing is over the limit, and nothing is lost."""
    sections = {s.section_id: s for s in made.sections}
    assert len(sections) == len(made.sections)
    assert len({c.chunk_id for c in made.chunks}) == len(made.chunks)
    for c in made.chunks:
        parent = sections[c.section_id]
        assert c.text == source.text[c.start : c.end] != ""
        assert parent.start <= c.start < c.end <= parent.end
        assert c.tokens <= limit
        assert c.lead + c.text in c.search_text or c.kind == "outline"
    assert [c.ordinal for c in made.chunks] == list(range(len(made.chunks)))
    assert {c.section_id for c in made.chunks} == set(sections)
    for s, following in zip(made.sections, made.sections[1:], strict=False):
        assert s.end <= following.start
        assert s.headers
    if complete:
        assert_nothing_lost(source, made)


def assert_nothing_lost(source: Document, made: DocumentChunks) -> None:
    """Each code point of the body that is not white space lies in one section or one rejected piece."""
    outlined = any(s.kind == "outline" for s in made.sections)
    spans = [(s.start, s.end) for s in made.sections if not outlined]
    spans += [(e.start, e.end) for e in made.ledger if e.outcome == "filtered" and e.rule != "empty"]
    cursor = source.body_start
    for start, end in sorted(spans):
        assert start >= cursor or not source.text[start:cursor].strip()
        assert not source.text[cursor:start].strip()
        cursor = end
    if not any(e.rule == "empty" for e in made.ledger):
        assert not source.text[cursor:].strip()
