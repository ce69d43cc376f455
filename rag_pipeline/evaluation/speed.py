"""One run of the benchmarks: how fast the release in service is, as figures by name, added to the history.

Nothing of it depends on what was measured before, and what the figures mean is not asked here. Names and units stand
in speed_history.py, measuring in fresh processes is speed_process.py.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rag_pipeline.evaluation.code_fingerprint import code_fingerprint
from rag_pipeline.evaluation.eval_set import EvalSet
from rag_pipeline.evaluation.history_machine import machine
from rag_pipeline.evaluation.latency import LatencyReport, measure_latency
from rag_pipeline.evaluation.measure import Report
from rag_pipeline.evaluation.questions import questions_for
from rag_pipeline.evaluation.speed_history import SpeedRun, append_run
from rag_pipeline.evaluation.speed_process import cold_starts, reader_peak
from rag_pipeline.index.open import Index
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval.query_vector import query_model
from rag_pipeline.retrieval.reader import OpenRelease, open_current, open_release
from rag_pipeline.schema import Progress, Release
from rag_pipeline.settings.collection import CollectionSettings

SAMPLE = 48
"""Chunks that are embedded."""
ROUNDS = 3
OPENINGS = 5
COLD_STARTS = 5
READER_QUESTIONS = 20
# By content and not by row, so that a corpus of which little changed gives almost the same sample.
_SAMPLE = "SELECT search_text FROM chunks ORDER BY md5(search_text), row LIMIT ?"


def measure_speed(
    home: Home, collection: str, own: CollectionSettings, *, at: str, progress: Report | None = None
) -> SpeedRun:
    """Measure the release in service and record the run; `at` is the time of it, UTC. The caller holds the build lock.

    Raises NoRelease before the first publish, InvalidEvalSet, what opening a release raises, and StageFailed where a
    fresh process could not answer.
    """
    load = load_now()
    paths = home.collection(collection)
    began = time.perf_counter()

    def done(steps: int) -> None:
        if progress is not None:
            progress(Progress("benchmarks", steps, 4, time.perf_counter() - began))

    opened = open_current(paths)
    eval_set = questions_for(paths, opened.release.release_id, own).eval_set
    reports = [
        measure_latency(opened, eval_set.queries, models=home.models, strategy=name)
        for name in served_strategies(opened.release)
    ]
    done(1)
    figures = {**query_figures(reports), **index_figures(paths, opened)}
    done(2)
    figures |= embedding_figures(opened, models=home.models)
    done(3)
    figures |= process_figures(home, opened, eval_set)
    done(4)
    run = SpeedRun(
        at=at,
        collection=collection,
        release_id=opened.release.release_id,
        build_key=opened.release.build_key,
        code=code_fingerprint(),
        machine=machine(),
        load=load,
        chunks=opened.index.chunks,
        questions=max((report.stages["total"].n for report in reports if report.stages), default=0),
        failed=sum(report.failed for report in reports),
        figures=figures,
    )
    append_run(paths.benchmarks, run)
    return run


def served_strategies(release: Release) -> tuple[str, ...]:
    """The default one first, then those that contexts name."""
    named = (str(context["strategy"]) for context in release.contexts.values())
    return tuple(dict.fromkeys((release.default_strategy, *named)))


def query_figures(reports: Sequence[LatencyReport]) -> dict[str, float]:
    """Of warm answers; the first report is the default strategy's."""
    figures = {}
    for report in reports:
        if "total" in report.stages:
            figures[f"query.{report.strategy}.p50_ms"] = report.stages["total"].p50
            figures[f"query.{report.strategy}.p95_ms"] = report.stages["total"].p95
    if reports and "embed" in reports[0].stages:
        figures["query_embedding.p50_ms"] = reports[0].stages["embed"].p50
    return figures


def index_figures(paths: CollectionPaths, opened: OpenRelease) -> dict[str, float]:
    taken = []
    for _ in range(OPENINGS):
        began = time.perf_counter()
        open_release(paths, opened.release.release_id)
        taken.append((time.perf_counter() - began) * 1000)
    figures = {"open_index_ms": median(taken)}
    if opened.index.chunks:
        size = sum(file.stat().st_size for file in opened.index.folder.rglob("*") if file.is_file())
        figures["index_bytes_per_chunk"] = size / opened.index.chunks
    return figures


def embedding_figures(opened: OpenRelease, *, models: Path) -> dict[str, float]:
    """By the release's own model; the median of ROUNDS, after a few texts that warm it."""
    texts = sample_texts(opened.index)
    if not texts:
        return {}
    model = query_model(models, str(opened.release.embedder["fingerprint"]))
    model.embed(texts[:4])
    clock, used = [], []
    for _ in range(ROUNDS):
        began, before = time.perf_counter(), time.process_time()
        model.embed(texts)
        clock.append(time.perf_counter() - began)
        used.append(time.process_time() - before)
    return {
        "embedding.chunks_per_second": len(texts) / median(clock),
        "embedding.cpu_ms_per_chunk": median(used) * 1000 / len(texts),
    }


def sample_texts(index: Index, *, count: int = SAMPLE) -> list[str]:
    """Searched texts of chunks, the same ones for the same index."""
    with index.cursor() as cursor:
        return [text for (text,) in cursor.execute(_SAMPLE, [count]).fetchall()]


def process_figures(home: Home, opened: OpenRelease, eval_set: EvalSet) -> dict[str, float]:
    questions = list(dict.fromkeys(query.text for query in eval_set.queries))
    if not questions:
        return {}
    collection = opened.release.collection
    clock, used = cold_starts(home, collection, questions[:COLD_STARTS])
    peak = reader_peak(home, collection, opened.release.release_id, questions[:READER_QUESTIONS])
    figures = {"cold_start_ms": clock, "cold_start_cpu_ms": used}
    return figures if peak is None else {**figures, "reader_peak_mb": peak}


def load_now() -> float | None:
    """Programs that ran or waited for a core in the last minute."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
