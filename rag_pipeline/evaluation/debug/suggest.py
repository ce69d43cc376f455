"""Settings that may bring a lost passage back, each tried by searching again.

Small changes come first. What was tried in vain is told too, so that nobody tries it again.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pipeline.evaluation.debug.blame import LEGS, Blame
from rag_pipeline.evaluation.debug.trace import Trace
from rag_pipeline.evaluation.debug.values import Place, Suggestion


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the passage in another search."""

    blame: Blame
    skipped: tuple[str, ...] = ()
    """Markers of stages that could not run there, though they were asked for."""


Retry = Callable[[Mapping[str, Any]], Outcome]
"""Searches again with these overrides."""

MOST_CANDIDATES = 10_000
MOST_RESULTS = 50
"""More than this is no answer to a question."""
DEEPER = (100, 200, 500, 1000, 2000, 5000, MOST_CANDIDATES)


@dataclass(frozen=True, slots=True)
class Attempt:
    advice: str
    settings: Mapping[str, Any]


def suggest(trace: Trace, blame: Blame, places: Sequence[Place], *, retry: Retry) -> tuple[Suggestion, ...]:
    """What works first. Where nothing does alone, the best of it together with as many results as it then takes."""
    top_k = "max_chunks" if trace.preset is not None else "top_k"
    tried: list[Suggestion] = []
    nearest: tuple[int, Mapping[str, Any]] | None = None
    for attempt in attempts(trace, blame, places, top_k=top_k):
        outcome = retry(attempt.settings)
        tried.append(suggestion_of(attempt, outcome))
        again = outcome.blame
        if outcome.skipped:
            continue
        if again.reason != "not_a_candidate" and again.rank is not None and (not nearest or again.rank < nearest[0]):
            nearest = (again.rank, attempt.settings)
    if nearest and not any(s.works for s in tried) and trace.strategy.top_k < nearest[0] <= MOST_RESULTS:
        both = Attempt("both together", {**nearest[1], top_k: nearest[0]})
        tried.append(suggestion_of(both, retry(both.settings)))
    if blame.reason == "overlap":
        tried.append(Suggestion("let sections not overlap: another chunker, or child_overlap_tokens = 0; re-index"))
    if blame.reason == "not_a_candidate" and not any(s.works for s in tried):
        tried.append(
            Suggestion("question and passage are far apart: ask in the words of the text, or say it there too")
        )
    return (*(s for s in tried if s.works), *(s for s in tried if not s.works))


def attempts(trace: Trace, blame: Blame, places: Sequence[Place], *, top_k: str) -> Iterator[Attempt]:
    """What to try for this reason, the smallest change first. Nothing here asks a language model or a server."""
    strategy, rank = trace.strategy, blame.rank
    if blame.reason == "not_a_candidate":
        yield from _more_candidates(trace, blame, places)
    elif blame.reason == "fusion":
        yield from _other_weights(trace, places)
        other = "rrf" if strategy.fusion == "convex" else "convex"
        yield Attempt(f"fuse by {other}", {"fusion": other})
    elif blame.reason == "evidence":
        yield Attempt("count the document's other chunks less", {"evidence": round(strategy.evidence / 3, 3)})
        yield Attempt("leave the document's other chunks out of it", {"evidence": 0.0})
    elif blame.reason == "exact":
        yield Attempt("put chunks with the query's identifiers less in front", {"exact": round(strategy.exact / 3, 2)})
        yield Attempt("count identifiers as other words", {"exact": 0.0})
    elif blame.reason == "reranking":
        if strategy.rerank_top is not None:
            yield Attempt("let more go on after reranking", {"rerank_top": strategy.rerank_candidates})
        yield Attempt("trust the reranker less", {"rerank_weight": round(strategy.rerank_weight / 2, 2)})
        yield Attempt("do without the reranker", {"reranker": "none"})
    elif blame.reason == "min_relevance":
        yield Attempt("lower the floor", {"min_relevance": _below(trace, blame)})
        yield Attempt("do without a floor", {"min_relevance": 0.0})
    elif blame.reason == "diversity":
        yield Attempt("let similar sections stand", {"diversity": round(strategy.diversity / 3, 2)})
        yield Attempt("order by score alone", {"diversity": 0.0})
    elif blame.reason == "budget" and trace.preset is not None and rank is not None:
        yield Attempt("allow more tokens", {"max_tokens": 2 * trace.preset.max_tokens})
        if rank < trace.preset.max_chunks:
            yield Attempt("share the budget between fewer sections", {"max_chunks": rank})
        if trace.preset.parents:
            yield Attempt("show chunks instead of whole sections", {"parents": False})
    if blame.reason in ("cut", "fusion", "evidence", "exact", "reranking") and rank is not None:
        if strategy.reranker == "none" and rank <= strategy.rerank_candidates:
            yield Attempt("read the best sections again", {"reranker": "maxsim", "rerank_weight": 0.4})
        if strategy.reranker != "none" and strategy.rerank_candidates < rank <= MOST_RESULTS:
            yield Attempt("rerank more sections", {"rerank_candidates": rank})
        if strategy.top_k < rank <= MOST_RESULTS:
            yield Attempt("return more sections", {top_k: rank})


def _more_candidates(trace: Trace, blame: Blame, places: Sequence[Place]) -> Iterator[Attempt]:
    unused = [p for p in places if not p.used and p.rank is not None and p.rank <= trace.candidates]
    if unused:
        yield Attempt(f"search by {unused[0].stage} too, which ranks it {unused[0].rank}", {"vector_weight": 0.6})
    if blame.rank is None:
        return
    if blame.rank <= trace.candidates:
        yield Attempt("search exactly", {"search": "exact"})
    elif (wanted := next((n for n in DEEPER if n >= blame.rank), None)) is not None:
        yield Attempt("look deeper", {"candidates": wanted})


def _other_weights(trace: Trace, places: Sequence[Place]) -> Iterator[Attempt]:
    ranks = {p.stage: p.rank if p.rank is not None else math.inf for p in places if p.stage in LEGS}
    now = trace.strategy.vector_weight
    towards = "bm25" if ranks["bm25"] < ranks["vector"] else "vector"
    steps = (0.5, 0.25, 0.0) if towards == "bm25" else (0.75, 0.9, 1.0)
    for weight in steps:
        if (weight < now) == (towards == "bm25") and weight != now:
            yield Attempt(f"weigh {towards} more", {"vector_weight": weight})


def _below(trace: Trace, blame: Blame) -> float:
    """The passage's own relevance, rounded down to what a person would write."""
    assert trace.found is not None and blame.rank is not None
    before = [ranking for stage, ranking in trace.found.handed_on.items() if stage != "relevance"][-1]
    return math.floor(trace.found.handed_on["relevance"].relevance[before.rows[blame.rank - 1]] * 100) / 100


def suggestion_of(attempt: Attempt, outcome: Outcome) -> Suggestion:
    if outcome.skipped:
        return Suggestion(attempt.advice, attempt.settings, outcome=f"not tried: {', '.join(outcome.skipped)}")
    works = outcome.blame.reason == "found"
    rank = outcome.blame.rank if works else None
    return Suggestion(attempt.advice, attempt.settings, rank, works, outcome.blame.message)
