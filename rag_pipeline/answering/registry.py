"""Answerers by name."""

from collections.abc import Callable, Mapping

from rag_pipeline.answering.base import Answerer
from rag_pipeline.answering.extractive import ExtractiveAnswerer, Similarity
from rag_pipeline.answering.llm import LlmAnswerer
from rag_pipeline.errors import InvalidSettings
from rag_pipeline.llm.client import Llm
from rag_pipeline.settings.base import pick


def _extractive(llm: Llm | None, similarity: Similarity | None) -> Answerer:
    return ExtractiveAnswerer(similarity=similarity)


def _llm(llm: Llm | None, similarity: Similarity | None) -> Answerer:
    if llm is None:
        raise InvalidSettings(
            "answerer 'llm' needs a language model; set RAG_PIPELINE_LLM_URL and RAG_PIPELINE_LLM_MODEL, or use"
            " 'extractive'"
        )
    return LlmAnswerer(llm)


ANSWERERS: Mapping[str, Callable[[Llm | None, Similarity | None], Answerer]] = {"extractive": _extractive, "llm": _llm}


def open_answerer(name: str, *, llm: Llm | None, similarity: Similarity | None = None) -> Answerer:
    """`similarity` is for "extractive", which does without it too.

    Raises UnknownName; InvalidSettings for a language model that is not configured.
    """
    return pick(ANSWERERS, name, "answerer")(llm, similarity)
