"""Running the questions of an eval set through strategies: what each returned, what it scored, how long it took.

Lives here: the result values and the run. Means over questions are summary.py; what differs between two experiments is
comparison.py. Rankings and scores depend on the build and the questions alone; only the timings change between runs.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from rag_pipeline.evaluation.eval_set import UNANSWERABLE, EvalSet, Query
from rag_pipeline.evaluation.resolve import Relevance, Resolution
from rag_pipeline.evaluation.scoring import score
from rag_pipeline.evaluation.split import Half, select
from rag_pipeline.evaluation.stopping import Stop
from rag_pipeline.schema import RetrievalResult

Retrieve = Callable[[Query], RetrievalResult]
"""Answers a question with its filters and as its principal, at least 10 sections deep where metrics go to 10."""

State = Literal["scored", "unanswerable", "unresolved", "failed"]
"""unanswerable: has no right section; unresolved: its labels don't fit this build; failed: retrieval raised."""


@dataclass(frozen=True, slots=True)
class RankedSection:
    section_id: str
    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class QueryRun:
    """One question under one strategy. Only a scored one has metrics; an empty ranking scores 0, a failure nothing."""

    query_id: str
    text: str
    tags: tuple[str, ...]
    state: State
    ranking: tuple[RankedSection, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Metrics that came out as NaN or infinity: counted, never averaged."""
    seconds: float | None = None
    """Wall clock of the whole call."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """By stage, as the retrieval reported them."""
    markers: tuple[str, ...] = ()
    error: str | None = None
    recall_curve: tuple[float, ...] = ()
    """Recall of sections at 1, 2, ... 10; empty where the question was not scored."""

    @property
    def milliseconds(self) -> float | None:
        """Of the answer, as the retrieval reported it where it did; None where there is none."""
        if "total" in self.timings_ms:
            return self.timings_ms["total"]
        return None if self.seconds is None else self.seconds * 1000

    @property
    def answerable(self) -> bool:
        return UNANSWERABLE not in self.tags

    @property
    def sections(self) -> tuple[str, ...]:
        return tuple(r.section_id for r in self.ranking)

    @property
    def documents(self) -> tuple[str, ...]:
        """Distinct documents by their best section."""
        return tuple(dict.fromkeys(r.doc_id for r in self.ranking))


@dataclass(frozen=True, slots=True)
class Experiment:
    eval_set: str
    eval_set_version: str
    eval_set_hash: str
    """Of the whole set, whichever half was run."""
    half: Half
    release_id: str
    build_key: str
    runs: Mapping[str, tuple[QueryRun, ...]]
    """By strategy; every question of the half once, in the order of the eval set."""
    warm_up: int
    """Calls before the first measured one."""
    code: str = ""
    """Fingerprint of the code that answered and scored; two experiments of other code are not compared."""
    could_not_run: Mapping[str, str] = field(default_factory=dict)
    """Strategy -> why it was not asked, or not asked to the end; its questions that were not asked are failures."""


def run_experiment(
    eval_set: EvalSet,
    *,
    half: Half,
    resolution: Resolution,
    strategies: Mapping[str, Retrieve],
    release_id: str,
    build_key: str,
    warm_up: int = 3,
    code: str = "",
) -> Experiment:
    """Every question of `half` through every strategy.

    Question by question and not strategy by strategy, so that what strategies share about a question need be kept for
    one question only. `resolution` is what the labels mean in this build. A call that raises, or that answers from
    another release, is recorded as that question's failure and the run goes on; a strategy that can't run at all is
    found by the calls that warm up, and not asked again for every question.
    """
    questions = select(eval_set, half).queries
    stops = {name: Stop() for name in strategies}
    runs: dict[str, list[QueryRun]] = {name: [] for name in strategies}
    warmed = 0
    for name, retrieve in strategies.items():
        for query in questions[:warm_up]:
            if stops[name].reason is None:
                _call(retrieve, query, release_id=release_id, stop=stops[name])
                warmed += 1
    for query in questions:
        relevance = resolution.relevance.get(query.id)
        for name, retrieve in strategies.items():
            runs[name].append(_run(retrieve, query, relevance=relevance, release_id=release_id, stop=stops[name]))
    return Experiment(
        eval_set=eval_set.name,
        eval_set_version=eval_set.version,
        eval_set_hash=eval_set.content_hash,
        half=half,
        release_id=release_id,
        build_key=build_key,
        runs={name: tuple(run) for name, run in runs.items()},
        warm_up=warmed,
        code=code,
        could_not_run={name: stop.reason for name, stop in stops.items() if stop.reason is not None},
    )


def of_half(experiment: Experiment, eval_set: EvalSet, half: Half) -> Experiment:
    """The part of an experiment over both halves that belongs to one of them."""
    if half is experiment.half:
        return experiment
    if experiment.half is not Half.BOTH:
        raise ValueError(f"an experiment over the {experiment.half.value} half holds no other")
    kept = {query.id for query in select(eval_set, half).queries}
    runs = {name: tuple(q for q in run if q.query_id in kept) for name, run in experiment.runs.items()}
    return replace(experiment, half=half, runs=runs)


def _run(retrieve: Retrieve, query: Query, *, relevance: Relevance | None, release_id: str, stop: Stop) -> QueryRun:
    if query.answerable and relevance is None:
        return QueryRun(query.id, query.text, query.tags, "unresolved")
    if stop.reason is not None:
        return QueryRun(query.id, query.text, query.tags, "failed", error=f"not asked: {stop.reason}")
    began = time.perf_counter()
    result = _call(retrieve, query, release_id=release_id, stop=stop)
    seconds = time.perf_counter() - began
    if isinstance(result, str):
        return QueryRun(query.id, query.text, query.tags, "failed", error=result)
    ranking = tuple(
        RankedSection(hit.section_id, hit.doc_id, hit.section_start, hit.section_end) for hit in result.hits
    )
    scores = score(ranking, relevance) if relevance is not None else None
    return QueryRun(
        query_id=query.id,
        text=query.text,
        tags=query.tags,
        state="unanswerable" if scores is None else "scored",
        ranking=ranking,
        metrics=scores.metrics if scores else {},
        missing=scores.missing if scores else (),
        seconds=seconds,
        timings_ms=dict(result.timings_ms),
        markers=result.markers,
        recall_curve=scores.recall_curve if scores else (),
    )


def _call(retrieve: Retrieve, query: Query, *, release_id: str, stop: Stop) -> RetrievalResult | str:
    try:
        result = retrieve(query)
    except Exception as error:  # noqa: BLE001 - one question's failure, recorded and counted, must not end the run
        stop.failed(error)
        return f"{type(error).__name__}: {error}"
    if result.release_id != release_id:
        return f"answered from release {result.release_id}, not from {release_id}"
    stop.answered()
    return result
