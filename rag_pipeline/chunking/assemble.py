"""Pieces to sections and chunks with ids; every search text is counted, and one over the limit is split."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rag_pipeline.chunking.blocks import Headers
from rag_pipeline.chunking.garbage import has_visible
from rag_pipeline.chunking.graphemes import safe_cut
from rag_pipeline.chunking.langchain_split import PROSE, split_span
from rag_pipeline.chunking.lines import trimmed
from rag_pipeline.chunking.search_text import SPECIAL_TOKENS, Prefixes, search_text
from rag_pipeline.chunking.sectioner_markdown import is_headings_only
from rag_pipeline.chunking.sizes import Measure
from rag_pipeline.chunking.split import Piece
from rag_pipeline.errors import InvalidSettings
from rag_pipeline.schema import Chunk, Document, LedgerEntry, Section
from rag_pipeline.text.tokenizer import Tokenizer, count_many


@dataclass(frozen=True, slots=True)
class DocumentChunks:
    """What became of one document; `ledger` has its rejected pieces and notices."""

    sections: tuple[Section, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedPiece:
    piece: Piece
    headers: Headers
    """In front of the search text: the piece's own path, which in a merged section may be deeper than the section's."""


@dataclass(frozen=True, slots=True)
class PlannedSection:
    start: int
    end: int
    headers: Headers
    kind: str
    pieces: tuple[PlannedPiece, ...] = field(default=())


@dataclass(slots=True)
class _Row:
    section: int
    piece: Piece
    headers: Headers
    text: str
    tokens: int = 0


def assemble(
    document: Document,
    plan: Sequence[PlannedSection],
    *,
    tokenizer: Tokenizer,
    limit: int,
    prefixes: Prefixes,
    measure: Measure,
    ledger: Sequence[LedgerEntry] = (),
) -> DocumentChunks:
    """Sections without a piece are left out: planning rejects those before. `measure` is the child's size."""
    rows = [
        _Row(number, piece, p.headers, "")
        for number, section in enumerate(plan)
        for p in section.pieces
        if (piece := _trimmed(document.text, p.piece)) is not None
    ]
    rows = _fitted(document, rows, tokenizer=tokenizer, limit=limit, prefixes=prefixes, measure=measure)
    if all(is_headings_only(document.text[r.piece.start : r.piece.end]) for r in rows):
        for row in rows:
            row.piece = replace(row.piece, kind="outline")
    used = sorted({row.section for row in rows})
    sections: list[Section] = []
    ids: dict[int, str] = {}
    for ordinal, number in enumerate(used):
        planned = plan[number]
        start, end = trimmed(document.text, planned.start, planned.end)
        ids[number] = section_id(document.doc_id, start, end)
        sections.append(Section(ids[number], document.doc_id, ordinal, start, end, planned.headers, planned.kind))
    chunks = tuple(
        Chunk(
            chunk_id(document.doc_id, r.piece.start, r.piece.end),
            ids[r.section],
            document.doc_id,
            ordinal,
            r.piece.start,
            r.piece.end,
            document.text[r.piece.start : r.piece.end],
            _lead(document.text, r.piece),
            r.text,
            r.tokens,
            r.piece.kind,
        )
        for ordinal, r in enumerate(rows)
    )
    return DocumentChunks(tuple(sections), chunks, tuple(ledger))


def chunk_id(doc_id: str, start: int, end: int) -> str:
    return _short_hash("chunk", doc_id, start, end)


def section_id(doc_id: str, start: int, end: int) -> str:
    """Begins with "s": no chunk has the same id as a section of the same span."""
    return "s" + _short_hash("section", doc_id, start, end)


def _short_hash(what: str, doc_id: str, start: int, end: int) -> str:
    return hashlib.sha256(f"{what}\0{doc_id}\0{start}\0{end}".encode("utf-8", "replace")).hexdigest()[:20]


def _fitted(
    document: Document, rows: list[_Row], *, tokenizer: Tokenizer, limit: int, prefixes: Prefixes, measure: Measure
) -> list[_Row]:
    """Rows whose search text is within the limit; each round splits those that are not, so it ends."""
    todo = rows
    done: dict[tuple[int, int], _Row] = {}
    while todo:
        for row in todo:
            row.text = _search_text(document.text, row, prefixes)
        for row, count in zip(todo, count_many(tokenizer, [row.text for row in todo]), strict=True):
            row.tokens = count + SPECIAL_TOKENS
        over = [row for row in todo if row.tokens > limit]
        done.update({(row.piece.start, row.piece.end): row for row in todo if row.tokens <= limit})
        todo = [half for row in over for half in _halves(document.text, row, limit=limit, measure=measure)]
    return sorted(done.values(), key=lambda r: (r.piece.start, r.piece.end))


def _search_text(text: str, row: _Row, prefixes: Prefixes) -> str:
    prefix, _ = prefixes.of(row.headers)
    return search_text(prefix, _lead(text, row.piece), text[row.piece.start : row.piece.end])


def _halves(text: str, row: _Row, *, limit: int, measure: Measure) -> list[_Row]:
    """The piece in two or more; a repeated table header that takes much of the room goes first.

    Raises InvalidSettings where one code point under its title is too long, which takes a limit of a few tokens.
    """
    piece = row.piece
    if piece.lead is not None and measure.span(*piece.lead) * 3 > measure.span(piece.start, piece.end):
        return [_Row(row.section, Piece(piece.start, piece.end, piece.kind), row.headers, "")]
    if piece.end - piece.start < 2:
        raise InvalidSettings(f"a limit of {limit} tokens has no room for one sign under its title; use a longer limit")
    size = max(measure.string(text[piece.start : piece.end]) * limit // (row.tokens + limit // 8), 1)
    spans = split_span(text, piece.start, piece.end, size=size, length=measure.string, by=PROSE)
    if len(spans) < 2:
        middle = (piece.start + piece.end) // 2
        cut = safe_cut(text, middle, low=piece.start, high=piece.end)
        spans = [(piece.start, cut), (cut, piece.end)]
    halves = (_trimmed(text, Piece(low, high, piece.kind, piece.lead)) for low, high in spans)
    return [_Row(row.section, half, row.headers, "") for half in halves if half is not None]


def _trimmed(text: str, piece: Piece) -> Piece | None:
    """Without blank lines at its ends; None where nothing visible is left."""
    start, end = trimmed(text, piece.start, piece.end)
    return Piece(start, end, piece.kind, piece.lead) if has_visible(text[start:end]) else None


def _lead(text: str, piece: Piece) -> str:
    if piece.lead is None:
        return ""
    lead = text[slice(*piece.lead)]
    return lead if lead.endswith(("\n", "\r")) else lead + "\n"
