"""Why a passage is in no chunk: its document was never read, or this piece of it was left out."""

from rag_pipeline.evaluation.debug.advice import input_advice, piece_advice
from rag_pipeline.evaluation.debug.ledger import Stored, input_outcome, lost_pieces
from rag_pipeline.evaluation.debug.passage import Expected, Passage
from rag_pipeline.evaluation.debug.values import Diagnosis, Suggestion
from rag_pipeline.index.open import Index
from rag_pipeline.schema import Principal
from rag_pipeline.settings.base import suggestion


def without_document(
    index: Index, expected: Expected, *, readable: tuple[str, ...], principal: Principal | None
) -> Diagnosis:
    """`readable`: ids that may be named where the given one is unknown."""
    outcome = input_outcome(index, expected.document)
    if outcome is None:
        close = suggestion(expected.document, readable)
        return Diagnosis(
            str(expected),
            None,
            "unknown_document",
            f"no input of the build is called {expected.document!r}{close}",
            suggestions=(Suggestion("check its id and whether it lies in a source of the collection, then re-index"),),
        )
    # What never became a document has no access list, and an error may quote the file.
    system = principal is not None and principal.is_system
    detail = outcome.detail if system or outcome.outcome != "failed" else "its detail is shown to the system alone"
    what = "it was" if outcome.path == expected.document else f"{outcome.path} was"
    return Diagnosis(
        str(expected),
        None,
        "not_indexed",
        f"{what} {outcome.outcome} when the sources were read: {outcome.rule}" + (f" ({detail})" if detail else ""),
        suggestions=(Suggestion(input_advice(outcome.rule)),),
    )


def without_chunk(index: Index, expected: Expected, passage: Passage, stored: Stored) -> Diagnosis:
    """The principal may read the document."""
    pieces = lost_pieces(index, passage.document, passage.spans)
    if pieces:
        rules = ", ".join(dict.fromkeys(f"{p.rule} at {p.start}:{p.end}" for p in pieces))
        message, advice = f"no chunk holds it: {rules}", dict.fromkeys(piece_advice(p) for p in pieces)
    elif all(end <= stored.body_start for _, end in passage.spans):
        message = "it stands in the front matter, which is metadata and not searched"
        advice = dict.fromkeys(["filter by it, or say it in the text too"])
    else:
        message = "no chunk holds it, and the ledger has no rule for it: it lies between the sections"
        advice = dict.fromkeys(["quote more of the text around it"])
    suggestions = tuple(Suggestion(a) for a in advice)
    return Diagnosis(str(expected), passage.document, "passage_filtered", message, suggestions=suggestions)
