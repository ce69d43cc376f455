"""Measuring one stored release, in service or not: its questions through its strategies, kept beside the release.

Rankings depend on the release, the questions and the code alone, so what was measured before is read again. What the
numbers mean for publishing is not asked here.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.evaluation.code_fingerprint import code_fingerprint
from rag_pipeline.evaluation.eval_set import EvalSet, Query
from rag_pipeline.evaluation.experiment import Experiment, Retrieve, of_half, run_experiment
from rag_pipeline.evaluation.resolve import resolve
from rag_pipeline.evaluation.results import read_experiment, write_experiment, write_value
from rag_pipeline.evaluation.sharing import Sharing
from rag_pipeline.evaluation.split import Half
from rag_pipeline.evaluation.stored_corpus import stored_corpus
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.reader import OpenRelease, open_release
from rag_pipeline.retrieval.release_file import read_release
from rag_pipeline.retrieval.retrieve import retrieve_from
from rag_pipeline.retrieval.strategy import strategy_of
from rag_pipeline.schema import Progress, RetrievalResult
from rag_pipeline.settings.strategy import RerankerSettings

DEPTH = 10
"""Sections asked for at least, since metrics go to 10."""
PATIENCE = 30.0
"""Seconds that a reranker has at least. How well it ranks is asked here; how fast it is, `latency` and its budget tell,
and a model that loads on a busy machine must not pass for one that can't run."""
QUESTIONS = "questions"
"""Name under which the eval set is kept beside its results, so that they can be measured again without it."""

Report = Callable[[Progress], None]


def measure_release(
    paths: CollectionPaths,
    release_id: str,
    eval_set: EvalSet,
    *,
    models: Path,
    strategies: Sequence[str] | None = None,
    half: Half = Half.BOTH,
    progress: Report | None = None,
) -> Experiment:
    """What the release does on the eval set, for these strategies (None: its default one).

    Both halves are measured and stored; `half` says which is returned. A strategy that was measured without failure by
    the same code is not run again. Raises UnknownName for a strategy the release doesn't have, and what opening a
    release raises; a question that fails is in the result.
    """
    release = read_release(paths.release(release_id))
    wanted = tuple(strategies) if strategies is not None else (release.default_strategy,)
    for name in wanted:
        strategy_of(release, name)
    folder = paths.evaluation(release_id, eval_set.content_hash)
    known = stored_experiment(folder)
    missing = [name for name in wanted if known is None or not _is_sound(known, name)]
    if missing:
        opened = open_release(paths, release_id)
        fresh = run_release(opened, eval_set, models=models, strategies=missing, progress=progress)
        known = fresh if known is None else _merged(known, fresh)
        write_value(folder, QUESTIONS, eval_set)
        write_experiment(folder, known)
    assert known is not None
    told = {name: why for name, why in known.could_not_run.items() if name in wanted}
    chosen = replace(known, runs={name: known.runs[name] for name in wanted}, could_not_run=told)
    return of_half(chosen, eval_set, half)


def run_release(
    opened: OpenRelease, eval_set: EvalSet, *, models: Path, strategies: Sequence[str], progress: Report | None = None
) -> Experiment:
    """The same without looking at or writing what is stored. What strategies share is computed once: `sharing`."""
    sharing = Sharing(opened)
    resolution = resolve(eval_set, stored_corpus(opened.index))
    counted = _Counted(progress, total=len(strategies) * len(eval_set.queries))
    return run_experiment(
        eval_set,
        half=Half.BOTH,
        resolution=resolution,
        strategies={
            name: counted(asker(sharing.opened, name, models=models, after=sharing.alone)) for name in strategies
        },
        release_id=opened.release.release_id,
        build_key=opened.release.build_key,
        code=code_fingerprint(),
    )


def asker(
    opened: OpenRelease,
    strategy: str,
    *,
    models: Path,
    after: Callable[[RetrievalResult], RetrievalResult] = lambda result: result,
) -> Retrieve:
    """Answers questions by one strategy of an open release, deep enough for the metrics; `after` sees every answer.

    Strictly: a reranker or transform that could not run is that question's failure, not another strategy's ranking.
    """
    stored = opened.release.strategies[strategy]
    deep: dict[str, Any] = {"strict": True, "top_k": max(DEPTH, int(str(stored.get("top_k", DEPTH))))}
    if stored.get("reranker", "none") != "none":
        options = RerankerSettings.model_validate(stored.get("reranker_options", {}))
        deep["reranker_options"] = options.model_copy(update={"seconds": max(PATIENCE, options.seconds)})
    if stored.get("rerank_top") is not None:
        deep["rerank_top"] = max(DEPTH, int(str(stored["rerank_top"])))

    def ask(query: Query) -> RetrievalResult:
        return after(
            retrieve_from(
                opened,
                query.text,
                models=models,
                strategy=strategy,
                filters=query.filters,
                principal=query.principal,
                **deep,
            )
        )

    return ask


def stored_experiment(folder: Path) -> Experiment | None:
    """What was measured there by this code; None where nothing was, or it can't be read, or other code did."""
    try:
        found = read_experiment(folder)
    except CorruptBuild:
        return None
    return found if found.code == code_fingerprint() else None


def _merged(known: Experiment, fresh: Experiment) -> Experiment:
    """`fresh` and what was known of other strategies."""
    told = {name: why for name, why in known.could_not_run.items() if name not in fresh.runs}
    return replace(fresh, runs={**known.runs, **fresh.runs}, could_not_run={**told, **fresh.could_not_run})


def _is_sound(experiment: Experiment, strategy: str) -> bool:
    """A failure may have been a server's bad minute, so it is no reason to keep an evaluation."""
    return strategy in experiment.runs and not any(q.state == "failed" for q in experiment.runs[strategy])


class _Counted:
    """Reports every tenth call; the few calls to warm up are counted too, and the last calls are then silent."""

    def __init__(self, report: Report | None, *, total: int) -> None:
        self._report = report
        self._total = total
        self._done = 0
        self._began = time.perf_counter()

    def __call__(self, ask: Retrieve) -> Retrieve:
        def counted(query: Query) -> RetrievalResult:
            try:
                return ask(query)
            finally:
                self._done += 1
                last = self._done == self._total
                if self._report is not None and (last or (self._done % 10 == 0 and self._done < self._total)):
                    self._report(Progress("evaluate", self._done, self._total, time.perf_counter() - self._began))

        return counted
