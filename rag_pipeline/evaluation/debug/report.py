"""One question examined: what every stage ranked first, what looks suspicious, and where the expected passages went."""

from pathlib import Path

from rag_pipeline.evaluation.debug.alarms import alarms_of
from rag_pipeline.evaluation.debug.diagnose import diagnose
from rag_pipeline.evaluation.debug.overview import stages_of
from rag_pipeline.evaluation.debug.passage import Expected
from rag_pipeline.evaluation.debug.trace import trace
from rag_pipeline.evaluation.debug.values import Asked, Report, told
from rag_pipeline.retrieval.reader import OpenRelease


def examine(opened: OpenRelease, asked: Asked, *, models: Path, expected: tuple[Expected, ...] = ()) -> Report:
    """Raises what `retrieve` raises for the same arguments; that something is not found is never an error."""
    traced = trace(opened, asked, models=models)
    return Report(
        collection=opened.release.collection,
        release_id=opened.release.release_id,
        question=traced.query,
        strategy=traced.strategy_name,
        context=asked.context,
        filters=traced.filters,
        principal=told(asked.principal),
        stages=stages_of(traced),
        candidates=traced.found.counts if traced.found else {},
        markers=traced.markers,
        alarms=alarms_of(traced),
        diagnoses=tuple(diagnose(traced, each, models=models) for each in expected),
    )
