"""One row a question, in columns, as MLflow's table view compares runs by.

Question texts, document ids and offsets stand in it; texts of documents don't.
"""

from collections.abc import Sequence

from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.leaderboard import SHOWN
from rag_pipeline.evaluation.metrics.registry import NAMES

FILE = "per_query.json"
"""The same name in every run: the comparison view joins tables of one name."""
Cell = str | int | float | None


def per_query_table(run: Sequence[QueryRun]) -> dict[str, list[Cell]]:
    """Columns of equal length, in the order of the questions; a question without a metric has None there."""
    measured = {name for q in run for name in q.metrics}
    names = [*(n for n in SHOWN if n in measured), *(n for n in NAMES if n in measured and n not in SHOWN)]
    return {
        "query_id": [q.query_id for q in run],
        "question": [q.text for q in run],
        "tags": [", ".join(q.tags) for q in run],
        "state": [q.state for q in run],
        "found": ["\n".join(f"{r.doc_id}:{r.start}-{r.end}" for r in q.ranking) for q in run],
        **{name: [q.metrics.get(name) for q in run] for name in names},
        "markers": [", ".join(q.markers) for q in run],
        "error": [q.error or "" for q in run],
    }
