"""A reranker that can't break a query: a time limit, and first-stage order with a visible marker where it fails.

rerank=skipped:unavailable      no model on this machine, or not the expected one
rerank=skipped:missing_extra    a package is not installed
rerank=skipped:timeout          it took too long
rerank=skipped:busy             earlier runs that took too long have not ended yet
rerank=skipped:no_scores        it scored nothing
rerank=skipped:all_equal        it scored different passages all alike
rerank=skipped:http_429 ...     what a hosted one answered
rerank=skipped:error_<Class>    anything else; the log has the details
rerank=partial                  it left some passages without a score
rerank=opened_again_every_60s   it could not be opened; a query a minute tries again
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from rag_pipeline.errors import MissingExtra, ModelUnavailable, StageFailed
from rag_pipeline.reranking.base import Passage, Ranked, Reranker
from rag_pipeline.reranking.blend import blend
from rag_pipeline.reranking.reopening import SECONDS, Reopening

LOG = logging.getLogger(__name__)
ADVICE = "see the log, choose another reranker, raise its time limit, or leave strict mode"
MOST_ABANDONED = 2
REOPENS = f"rerank=opened_again_every_{SECONDS:.0f}s"


@dataclass(frozen=True, slots=True)
class Guarded:
    ranked: Ranked
    """Blended scores; where the reranker was skipped, the first stage's own order and scores."""
    reranked: Ranked
    """What the reranker alone said, for explanations; () where it was skipped."""
    markers: tuple[str, ...]
    seconds: float

    @property
    def skipped(self) -> bool:
        return any(marker.startswith("rerank=skipped:") for marker in self.markers)


@dataclass(slots=True)
class _Job:
    done: threading.Event = field(default_factory=threading.Event)
    ranked: Ranked | None = None
    error: BaseException | None = None
    abandoned: bool = False


class Guard:
    """One for each reranker, shared by all threads. `strict` raises StageFailed instead of falling back."""

    def __init__(self, reranker: Reranker, *, seconds: float, strict: bool = False) -> None:
        self.reranker = reranker
        self.seconds = seconds
        self.strict = strict
        self._abandoned = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.reranker.name

    def rerank(
        self,
        query: str,
        passages: Sequence[Passage],
        first: Sequence[tuple[str, float]],
        *,
        weight: float,
        top_k: int | None = None,
    ) -> Guarded:
        """`first` has the first stage's `(id, score)`, best first, of every passage and perhaps of more.

        Those without a passage take part with their first-stage score. Nothing to rerank is no failure.
        """
        started = perf_counter()
        if not passages:
            return Guarded(_as_given(first, top_k), (), (), 0.0)
        ranked, reason = self._run(query, tuple(passages))
        if reason is None and not ranked:
            reason = "no_scores"
        elif reason is None and _all_equal(ranked, passages):
            reason = "all_equal"
        if reason is not None:
            if self.strict:
                raise StageFailed("rerank", reason, ADVICE)
            waits = isinstance(self.reranker, Reopening) and self.reranker.waits
            markers = (f"rerank=skipped:{reason}", *((REOPENS,) if waits else ()))
            return Guarded(_as_given(first, top_k), (), markers, perf_counter() - started)
        partial = len({passage for passage, _ in ranked}) < len(passages)
        blended = blend(first, ranked, weight=weight)[:top_k]
        return Guarded(blended, ranked, ("rerank=partial",) if partial else (), perf_counter() - started)

    def _run(self, query: str, passages: tuple[Passage, ...]) -> tuple[Ranked, str | None]:
        with self._lock:
            if self._abandoned >= MOST_ABANDONED:
                return (), "busy"
        job = _Job()
        threading.Thread(target=self._work, args=(job, query, passages), name="rerank", daemon=True).start()
        if not job.done.wait(self.seconds):
            with self._lock:
                if not job.done.is_set():
                    job.abandoned = True
                    self._abandoned += 1
                    return (), "timeout"
        if job.error is not None:
            return (), _reason(job.error)
        return job.ranked or (), None

    def _work(self, job: _Job, query: str, passages: tuple[Passage, ...]) -> None:
        try:
            job.ranked = self.reranker.rerank(query, passages)
        except Exception as error:  # noqa: BLE001 - models raise anything; the marker and the log are the record
            LOG.warning("reranker %s failed: %s: %s", self.reranker.name, type(error).__name__, error)
            job.error = error
        finally:
            with self._lock:
                job.done.set()
                if job.abandoned:
                    self._abandoned -= 1


def guard(name: str, open_it: Callable[[], Reranker], *, seconds: float, strict: bool = False) -> Guard:
    """Open a reranker and guard it. One that can't be opened raises if strict; else queries are answered without it,
    visibly, and it is tried again once a minute."""
    try:
        return Guard(open_it(), seconds=seconds, strict=strict)
    except (ModelUnavailable, MissingExtra, StageFailed) as error:
        if strict:
            raise
        return Guard(Reopening(name, open_it, error), seconds=seconds)


def _as_given(first: Sequence[tuple[str, float]], top_k: int | None) -> Ranked:
    return tuple((passage, float(score)) for passage, score in first)[:top_k]


def _all_equal(ranked: Ranked, passages: Sequence[Passage]) -> bool:
    """Equal scores of equal texts say nothing against a reranker."""
    return len({score for _, score in ranked}) == 1 and len({passage.text for passage in passages}) > 1


def _reason(error: BaseException) -> str:
    if isinstance(error, StageFailed):
        return error.reason
    if isinstance(error, ModelUnavailable):
        return "unavailable"
    return "missing_extra" if isinstance(error, MissingExtra) else f"error_{type(error).__name__}"
