"""Judges by name, those that can run here, and why the others can't."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.embedding.base import Embedder
from rag_pipeline.errors import MissingExtra
from rag_pipeline.evaluation.judges.base import Judge
from rag_pipeline.evaluation.judges.cached import CachedJudge
from rag_pipeline.evaluation.judges.lexical import LexicalJudge
from rag_pipeline.evaluation.judges.llm import LlmJudge
from rag_pipeline.evaluation.judges.ragas_judge import RagasJudge
from rag_pipeline.evaluation.judges.semantic import SemanticJudge
from rag_pipeline.llm.client import Llm
from rag_pipeline.settings.base import pick

NO_MODEL = "no language model is configured; set RAG_PIPELINE_LLM_URL and RAG_PIPELINE_LLM_MODEL"


@dataclass(frozen=True, slots=True)
class Judges:
    judges: tuple[Judge, ...]
    not_run: Mapping[str, str]
    """Why, by name."""


def _by_model(make: Callable[[Llm], Judge], llm: Llm | None) -> Judge | str:
    return NO_MODEL if llm is None else make(llm)


JUDGES: Mapping[str, Callable[[Embedder, Llm | None], Judge | str]] = {
    "lexical": lambda embedder, llm: LexicalJudge(),
    "semantic": lambda embedder, llm: SemanticJudge(embedder),
    "llm": lambda embedder, llm: _by_model(LlmJudge, llm),
    "ragas": lambda embedder, llm: _by_model(RagasJudge, llm),
}
"""Each gives the judge, or why there is none."""
BY_MODEL = frozenset({"llm", "ragas"})
"""Their verdicts cost calls and vary, so they are kept; the others follow the code at no cost worth a stale verdict."""


def open_judges(
    embedder: Embedder, *, llm: Llm | None, cache: Path | None, names: Sequence[str] | None = None
) -> Judges:
    """All of them, or those named; what language models said is kept under `cache`. Raises UnknownName."""
    judges: list[Judge] = []
    not_run: dict[str, str] = {}
    for name in names if names is not None else JUDGES:
        try:
            found = pick(JUDGES, name, "judge")(embedder, llm)
        except MissingExtra as error:
            found = str(error)
        if isinstance(found, str):
            not_run[name] = found
        elif cache is not None and name in BY_MODEL:
            judges.append(CachedJudge(found, cache / name))
        else:
            judges.append(found)
    return Judges(tuple(judges), not_run)
