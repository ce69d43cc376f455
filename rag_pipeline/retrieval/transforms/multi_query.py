"""Several wordings of the same question, by a language model, so that other words can be found."""

from rag_pipeline.llm.client import Llm
from rag_pipeline.retrieval.transforms.ask import several
from rag_pipeline.retrieval.transforms.base import Transformed

MOST = 3
TASK = (
    "Write three other wordings of the query that mean the same but use other words, such as the documents might use. "
    'Reply with a JSON object: {"queries": ["...", "...", "..."]}'
)


def multi_query(query: str, *, llm: Llm | None, strict: bool = False) -> Transformed:
    """At most three variants besides the query."""
    return several(query, TASK, key="queries", kind="multi_query", most=MOST, llm=llm, strict=strict)
