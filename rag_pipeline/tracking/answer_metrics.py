"""The numbers of evaluated answers, by answerer; the answers themselves quote documents and are not logged."""

from rag_pipeline.evaluation.answer_quality import AnswerQuality, Measured
from rag_pipeline.tracking.names import Metrics


def add_answers(found: Metrics, quality: AnswerQuality) -> None:
    """`answers.extractive.key_facts`, `answers.llm.faithfulness.semantic`, ...; each with `_coverage` beside it.

    A judge that judged too few answers has no mean: its metric is missing and counted. A metric that no question asks
    for is left out.
    """
    prefix = ("answers", quality.answerer)
    _measured(found, quality.key_facts, *prefix, "key_facts")
    _measured(found, quality.similarity, *prefix, "similarity")
    for name, measured in quality.ragas.items():
        _measured(found, measured, *prefix, "ragas", name)
    for judged in quality.faithfulness:
        if judged.answers:
            found.add(judged.mean, *prefix, "faithfulness", judged.judge)
            found.add(judged.coverage, *prefix, "faithfulness", f"{judged.judge}_coverage")
            found.add(judged.constant, *prefix, "faithfulness", f"{judged.judge}_constant")
    optional = {
        "abstention_precision": quality.abstention.precision,
        "abstention_recall": quality.abstention.recall,
        "context_tokens_mean": quality.tokens_mean,
        "context_tokens_most": quality.tokens_most,
    }
    found.update(((name, value) for name, value in optional.items() if value is not None), *prefix)
    found.add(quality.failed, *prefix, "failed")


def _measured(found: Metrics, measured: Measured, *name: str) -> None:
    if measured.of:
        found.add(measured.mean, *name)
        found.add(measured.coverage, *name[:-1], f"{name[-1]}_coverage")
