"""ragas' faithfulness as a judge, and its answer correctness, context precision and recall, with our own client.

A row that fails is that row's failure, with its reason: ragas' own runner makes it NaN and leaves it out of the mean.
ragas is imported when a judge or scorer is made, so that one that can't run is known before the first row; its
telemetry is off.
"""

import asyncio
import math
import os
import warnings
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from rag_pipeline.embedding.base import Embedder
from rag_pipeline.errors import MissingExtra
from rag_pipeline.evaluation.judges.base import Judgement
from rag_pipeline.llm.client import Llm

if TYPE_CHECKING:
    from rag_pipeline.evaluation.judges.ragas_llm import StrictLlm

METRICS = ("answer_correctness", "context_precision", "context_recall")


@dataclass(frozen=True, slots=True)
class RagasRow:
    values: Mapping[str, float]
    """By metric, 0 to 1: those that could be had."""
    failures: Mapping[str, str]
    """Reason by metric for the others."""


class RagasJudge:
    """Raises MissingExtra where ragas is not installed or can't be imported."""

    name = "ragas"
    parallel = 4

    def __init__(self, llm: Llm) -> None:
        self.fingerprint = f"ragas-{ragas_version()}-faithfulness-{llm.fingerprint}"
        _ragas()
        self._llm = llm

    def judge(self, answer: str, passages: Sequence[str], *, question: str = "") -> Judgement:
        """Share of supported statements: ragas cuts an answer in its own way, so there are no sentences."""
        if not (answer.strip() and question.strip() and passages):
            return Judgement(None, failure="nothing_to_judge" if not answer.strip() else "no_question_or_passages")
        asked = {"user_input": question, "response": answer, "retrieved_contexts": list(passages)}
        value, failure = _scored(self._llm, "Faithfulness", asked)
        return Judgement(value, failure=failure)


class RagasScorer:
    """Answer correctness (statements' F1 and, a quarter, similarity), context precision and recall against a reference.

    ragas' own weights and definitions: docs.ragas.io, "Metrics". Raises MissingExtra.
    """

    def __init__(self, llm: Llm, embedder: Embedder) -> None:
        self.fingerprint = f"ragas-{ragas_version()}-{llm.fingerprint}-{embedder.fingerprint}"
        _ragas()
        self._llm = llm
        self._embedder = embedder

    def score(self, *, question: str, answer: str, passages: Sequence[str], reference: str) -> RagasRow:
        contexts = {"user_input": question, "retrieved_contexts": list(passages), "reference": reference}
        whole = {"user_input": question, "response": answer, "reference": reference}
        more = {"embeddings": _embeddings(self._embedder)}
        calls: Mapping[str, Callable[[], tuple[float | None, str | None]]] = {
            "answer_correctness": lambda: _scored(self._llm, "AnswerCorrectness", whole, **more),
            "context_precision": lambda: _scored(self._llm, "ContextPrecision", contexts),
            "context_recall": lambda: _scored(self._llm, "ContextRecall", contexts),
        }
        values, failures = {}, {}
        for name, call in calls.items():
            value, failure = call()
            if value is None:
                failures[name] = failure or "no_number"
            else:
                values[name] = value
        return RagasRow(values, failures)


def ragas_version() -> str:
    """Raises MissingExtra."""
    try:
        return metadata.version("ragas")
    except metadata.PackageNotFoundError as error:
        raise MissingExtra("ragas", "eval") from error


def _scored(llm: Llm, metric: str, asked: Mapping[str, Any], **parts: Any) -> tuple[float | None, str | None]:
    """Value, or None and why."""
    collections, ragas_llm = _ragas()
    if not all(asked.values()):
        return None, f"no_{next(name for name, value in asked.items() if not value)}"
    strict = ragas_llm.StrictLlm(llm)
    try:
        scorer = getattr(collections, metric)(llm=strict, **parts)
        result = _run(scorer.ascore(**asked))
    except ragas_llm.RowFailed as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - ragas raises anything; one row's failure must not lose the others
        return None, type(error).__name__
    if not (isinstance(result.value, (int, float)) and math.isfinite(result.value) and 0 <= result.value <= 1 + 1e-9):
        return None, "no_number"
    return (None, "verdicts_missing") if _is_short(strict, metric) else (min(1.0, float(result.value)), None)


def _is_short(strict: "StrictLlm", metric: str) -> bool:
    """Fewer or more verdicts than statements: the share would be taken of another number."""
    counts = [len(s) for value in strict.returned if isinstance(s := getattr(value, "statements", None), list)]
    return metric == "Faithfulness" and len(set(counts)) != 1


def _run(call: Coroutine[Any, Any, Any]) -> Any:
    """In a thread of its own, since a notebook's is running a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, call).result()


def _embeddings(embedder: Embedder) -> Any:
    _ragas()
    from ragas.embeddings.base import BaseRagasEmbedding

    class Ours(BaseRagasEmbedding):
        def embed_text(self, text: str, **_: Any) -> list[float]:
            return [float(x) for x in embedder.embed([text])[0]]

        async def aembed_text(self, text: str, **_: Any) -> list[float]:
            return self.embed_text(text)

    return Ours()


def _ragas() -> tuple[Any, Any]:
    """Its metrics, and our client for it. Raises MissingExtra."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # read once, at its first event
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that ragas loads, none of them ours to mend
        try:
            from ragas.metrics import collections

            from rag_pipeline.evaluation.judges import ragas_llm
        except ImportError as error:
            raise MissingExtra("ragas", "eval") from error
    return collections, ragas_llm
