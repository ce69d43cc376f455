"""What became of an input on its way into the build, as its ledger says. Decides nothing about access."""

from dataclasses import dataclass

from rag_pipeline.index.open import Index

_NAMES = "SELECT path FROM input_outcomes UNION SELECT doc_id FROM documents"
_INPUT = "SELECT path, outcome, rule, detail FROM input_outcomes WHERE list_contains(?, path)"
_PIECES = """
SELECT stage, outcome, rule, detail, start, "end" FROM ledger
WHERE path = ? AND stage <> 'read' AND outcome <> 'notice' AND start IS NOT NULL ORDER BY start, "end", rule
"""
_DOCUMENT = "SELECT text, canonical_id, body_start FROM documents WHERE doc_id = ?"


@dataclass(frozen=True, slots=True)
class InputOutcome:
    path: str
    """The input itself, or the folder above it that was not entered, with a slash at its end."""
    outcome: str
    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class LostPiece:
    """A part of a document that is in no chunk, or whose chunk has no vector."""

    stage: str
    rule: str
    detail: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Stored:
    text: str
    canonical_id: str | None
    body_start: int


def input_names(index: Index) -> frozenset[str]:
    """Documents and inputs, whatever became of them."""
    with index.cursor() as cursor:
        return frozenset(name for (name,) in cursor.execute(_NAMES).fetchall())


def input_outcome(index: Index, path: str) -> InputOutcome | None:
    """Of the input, else of the nearest folder above it that has an entry; None where nothing of that name was seen."""
    parts = path.split("/")
    names = [path, *("/".join(parts[:n]) + "/" for n in range(len(parts) - 1, 0, -1))]
    with index.cursor() as cursor:
        found = {row[0]: InputOutcome(*row) for row in cursor.execute(_INPUT, [names]).fetchall()}
    return next((found[name] for name in names if name in found), None)


def lost_pieces(index: Index, doc_id: str, spans: tuple[tuple[int, int], ...]) -> tuple[LostPiece, ...]:
    """Pieces of the document that were left out and overlap one of the spans."""
    with index.cursor() as cursor:
        rows = cursor.execute(_PIECES, [doc_id]).fetchall()
    pieces = [LostPiece(stage, rule, detail, start, end) for stage, _, rule, detail, start, end in rows]
    return tuple(p for p in pieces if any(p.start < end and start < p.end for start, end in spans))


def stored_document(index: Index, doc_id: str) -> Stored | None:
    """The whole text too: for the operator's eyes until the principal's rights are known."""
    with index.cursor() as cursor:
        rows = cursor.execute(_DOCUMENT, [doc_id]).fetchall()
    return Stored(*rows[0]) if rows else None
