"""A question that needs several documents, taken apart into the questions that each need one, by a language model."""

from rag_pipeline.llm.client import Llm
from rag_pipeline.retrieval.transforms.ask import several
from rag_pipeline.retrieval.transforms.base import Transformed

MOST = 4
TASK = (
    "If answering the query needs facts that stand in different documents, write one self-contained search question "
    "for each fact, at most four. If it asks for a single fact, write that one question. "
    'Reply with a JSON object: {"questions": ["...", "..."]}'
)


def decompose(query: str, *, llm: Llm | None, strict: bool = False) -> Transformed:
    """At most four variants besides the query."""
    return several(query, TASK, key="questions", kind="decompose", most=MOST, llm=llm, strict=strict)
