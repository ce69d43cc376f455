"""One row a question, in columns, as MLflow's table view compares runs by.

Question texts, document ids and offsets stand in it; texts of documents don't. Questions that were asked as somebody
are left out: an MLflow server shows everybody what only they may see.
"""

from collections.abc import Sequence
from dataclasses import replace

from rag_pipeline.evaluation.eval_set import EvalSet
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.evaluation.gate import GateVerdict
from rag_pipeline.evaluation.leaderboard import SHOWN
from rag_pipeline.evaluation.metrics.registry import NAMES

FILE = "per_query.json"
"""The same name in every run: the comparison view joins tables of one name."""
Cell = str | int | float | None


def without_withheld(experiment: Experiment, questions: EvalSet | None) -> tuple[Experiment, int]:
    """The experiment as everybody may see it, and how many questions it leaves out: those with a principal, and any
    of which nothing is known, as where `questions` is None."""
    public = _public(questions)
    runs = {name: tuple(q for q in run if q.query_id in public) for name, run in experiment.runs.items()}
    asked = {q.query_id for run in experiment.runs.values() for q in run}
    return replace(experiment, runs=runs), len(asked - public)


def verdict_without_withheld(verdict: GateVerdict, questions: EvalSet | None) -> GateVerdict:
    """The verdict with the same numbers, naming none of those questions."""
    public = _public(questions)
    comparisons = [
        replace(
            compared,
            comparison=replace(
                compared.comparison,
                worse=tuple(q for q in compared.comparison.worse if q.query_id in public),
                left_out=tuple(q for q in compared.comparison.left_out if q in public),
            ),
        )
        for compared in verdict.comparisons
    ]
    return replace(verdict, comparisons=tuple(comparisons))


def _public(questions: EvalSet | None) -> set[str]:
    return {q.id for q in questions.queries if q.principal is None} if questions is not None else set()


def per_query_table(run: Sequence[QueryRun]) -> dict[str, list[Cell]]:
    """Columns of equal length, in the order of the questions; a question without a metric has None there."""
    measured = {name for q in run for name in q.metrics}
    names = [*(n for n in SHOWN if n in measured), *(n for n in NAMES if n in measured and n not in SHOWN)]
    return {
        "query_id": [q.query_id for q in run],
        "question": [q.text for q in run],
        "tags": [", ".join(q.tags) for q in run],
        "state": [q.state for q in run],
        **{name: [q.metrics.get(name) for q in run] for name in names},
        "markers": [", ".join(q.markers) for q in run],
        "error": [q.error or "" for q in run],
        # Last, since it is long, and a table's first columns are what is seen.
        "found": ["\n".join(f"{r.doc_id}:{r.start}-{r.end}" for r in q.ranking) for q in run],
    }
