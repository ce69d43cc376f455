"""Questions that got worse, with both rankings side by side, for people: documents and offsets instead of ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_pipeline.evaluation.comparison import Comparison
from rag_pipeline.evaluation.experiment import QueryRun

SHOWN = 5
"""Sections of each ranking."""


@dataclass(frozen=True, slots=True)
class WorseQuestion:
    query_id: str
    text: str
    before: float
    after: float
    ranking_before: tuple[str, ...]
    """"document:start-end", best first."""
    ranking_after: tuple[str, ...]


def worse_questions(
    comparison: Comparison, baseline: Sequence[QueryRun], candidate: Sequence[QueryRun]
) -> tuple[WorseQuestion, ...]:
    """The comparison's questions that got worse, greatest loss first."""
    before = {q.query_id: q for q in baseline}
    after = {q.query_id: q for q in candidate}
    return tuple(
        WorseQuestion(
            query_id=w.query_id,
            text=w.text,
            before=w.baseline_score,
            after=w.candidate_score,
            ranking_before=_places(before[w.query_id]),
            ranking_after=_places(after[w.query_id]),
        )
        for w in comparison.worse
    )


def moved_questions(
    baseline: Sequence[QueryRun], candidate: Sequence[QueryRun], *, metric: str
) -> tuple[tuple[WorseQuestion, ...], tuple[WorseQuestion, ...]]:
    """(lost, won): the questions whose score fell, greatest loss first, and those whose score rose."""
    before = {q.query_id: q for q in baseline if metric in q.metrics}
    moved = []
    for after in candidate:
        was = before.get(after.query_id)
        if was is not None and metric in after.metrics and was.metrics[metric] != after.metrics[metric]:
            scores = was.metrics[metric], after.metrics[metric]
            moved.append(WorseQuestion(after.query_id, after.text, *scores, _places(was), _places(after)))
    moved.sort(key=lambda q: (q.after - q.before, q.query_id))
    lost = tuple(q for q in moved if q.after < q.before)
    won = sorted((q for q in moved if q.after > q.before), key=lambda q: (q.before - q.after, q.query_id))
    return lost, tuple(won)


def in_a_line(question: WorseQuestion) -> str:
    before, after = question.ranking_before[:2], question.ranking_after[:2]
    return (
        f"{question.text!r} {question.before:.2f} -> {question.after:.2f} "
        f"(was {', '.join(before) or 'nothing'}; now {', '.join(after) or 'nothing'})"
    )


def _places(run: QueryRun) -> tuple[str, ...]:
    return tuple(f"{r.doc_id}:{r.start}-{r.end}" for r in run.ranking[:SHOWN])
