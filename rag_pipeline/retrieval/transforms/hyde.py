"""A made-up passage that would answer the query, to be embedded as a document (HyDE, Gao et al. 2022).

It is only ever compared with vectors: no reader sees it, and the lexical leg does not search for its words.
"""

from rag_pipeline.llm.client import Llm
from rag_pipeline.retrieval.transforms.ask import is_refusal, question
from rag_pipeline.retrieval.transforms.base import (
    MAX_PASSAGE_CHARS,
    Transformed,
    Variant,
    original,
    shorten,
    skipped,
)

TASK = (
    "Write a passage of three to five sentences, as it could stand in the documentation, that would answer the query. "
    "It need not be true. Reply with the passage alone."
)


def hyde(query: str, *, llm: Llm | None, strict: bool = False) -> Transformed:
    """One variant of role "document" besides the query, at most 2,000 characters."""
    if llm is None:
        return skipped(query, "unconfigured", strict=strict)
    reply = llm.complete(question(TASK, query, max_tokens=300))
    flat = " ".join(reply.text.split())
    reason = reply.failure or ("empty" if not flat else "refused" if is_refusal(flat) else None)
    if reason is not None:
        return skipped(query, reason, strict=strict, seconds=reply.seconds)
    passage = shorten(flat, MAX_PASSAGE_CHARS)
    markers = ("transform=cut",) if passage != flat or reply.truncated else ()
    return Transformed((original(query), Variant(passage, "hyde", "document")), markers, reply.cached, reply.seconds)
