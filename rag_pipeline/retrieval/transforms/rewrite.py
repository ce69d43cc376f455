"""One clearer wording of the query, by a language model."""

from rag_pipeline.llm.client import Llm
from rag_pipeline.retrieval.transforms.ask import is_refusal, question
from rag_pipeline.retrieval.transforms.base import Transformed, skipped, with_original

TASK = (
    "Rewrite the query as one short, specific search query: repair typos, spell out what is meant, drop small talk. "
    "Reply with the rewritten query alone, on one line."
)
MOST_LINES = 3


def rewrite(query: str, *, llm: Llm | None, strict: bool = False) -> Transformed:
    """At most one variant besides the query; a reply of more than three lines is no rewriting."""
    if llm is None:
        return skipped(query, "unconfigured", strict=strict)
    reply = llm.complete(question(TASK, query, max_tokens=120))
    lines = [line.strip().strip("\"'`") for line in reply.text.splitlines() if line.strip()]
    reason = reply.failure
    if reason is None:
        reason = "refused" if is_refusal(reply.text) else "malformed" if len(lines) > MOST_LINES else None
    if reason is None and not lines:
        reason = "empty"
    if reason is not None:
        return skipped(query, reason, strict=strict, seconds=reply.seconds)
    return with_original(query, lines[:1], kind="rewrite", most=1, cached=reply.cached, seconds=reply.seconds)
