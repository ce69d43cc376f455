"""Transforms by the names that strategies use."""

from collections.abc import Mapping

from rag_pipeline.llm.client import Llm
from rag_pipeline.retrieval.transforms.base import Transform, Transformed, original
from rag_pipeline.retrieval.transforms.decompose import decompose
from rag_pipeline.retrieval.transforms.hyde import hyde
from rag_pipeline.retrieval.transforms.multi_query import multi_query
from rag_pipeline.retrieval.transforms.rewrite import rewrite
from rag_pipeline.retrieval.transforms.template import template


def none(query: str, *, llm: Llm | None = None, strict: bool = False) -> Transformed:
    """The query alone."""
    return Transformed((original(query),))


TRANSFORMS: Mapping[str, Transform] = {
    "none": none,
    "template": template,
    "rewrite": rewrite,
    "hyde": hyde,
    "multi_query": multi_query,
    "decompose": decompose,
}

NEED_LLM = frozenset({"rewrite", "hyde", "multi_query", "decompose"})
