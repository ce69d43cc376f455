"""Which stage lost the passage, told from a trace. Pure: nothing is run again here.

A passage is lost by the last stage that took it out of what goes on: each stage hands on a window (candidates, the pool
that later stages choose from, `top_k`), and whoever moved it from inside the window to outside is named. One that was
never inside is lost to the cut itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag_pipeline.context.passage import Presented
from rag_pipeline.evaluation.debug.passage import Passage, Target
from rag_pipeline.evaluation.debug.places import section_rank
from rag_pipeline.evaluation.debug.trace import Trace
from rag_pipeline.evaluation.debug.values import Place, Reason
from rag_pipeline.schema import Hit

LEGS = ("vector", "bm25")


@dataclass(frozen=True, slots=True)
class Blame:
    reason: Reason
    message: str
    rank: int | None = None
    """Where it is returned, or where it stood last."""


def blame(trace: Trace, places: Sequence[Place], target: Target) -> Blame:
    """The target has chunks in the trace's scope."""
    assert trace.found is not None
    if not np.isin(target.rows, trace.found.candidates.rows).any():
        return _no_candidate(trace, places)
    rank = section_rank(trace, trace.found.ranking.rows, target)
    if rank is not None:
        return _found(trace, target, rank)
    if covering := _covered_by(trace, target):
        return Blame("overlap", f"the overlapping section {covering} of the document ranks higher and stands for it")
    handed_on = trace.found.handed_on
    pool = handed_on["sections"].rows
    if section_rank(trace, pool, target) is None:
        return _pushed_out(trace, places, target, window=len(pool))
    if "rerank" in handed_on and section_rank(trace, handed_on["rerank"].rows, target) is None:
        message = f"it ranks below the {trace.strategy.rerank_top} sections that go on after reranking (rerank_top)"
        return Blame("reranking", message, _rank_of(places, trace.scored_by[-1]))
    last = section_rank(trace, handed_on["relevance"].rows, target)
    if last is None:
        return _below_floor(trace, target)
    if last <= trace.strategy.top_k:
        message = f"it ranks {last} by score, but is so like results before it that diversity prefers others"
        return Blame("diversity", message, last)
    reranked = _rank_of(places, "rerank") if "rerank" in handed_on else None
    return _pushed_out(trace, places, target, window=trace.strategy.top_k, reranked=reranked)


def _found(trace: Trace, target: Target, rank: int) -> Blame:
    assert trace.found is not None
    returned = f"it is returned, rank {rank} of {len(trace.found.ranking.rows)}"
    if trace.passages is None or trace.preset is None:
        return Blame("found", returned, rank)
    shown_by = {p.parent.section_id: p for p in trace.passages}
    sections = trace.opened.index.layout.section
    ranked = zip(trace.hits, trace.found.ranking.rows, strict=True)
    own = [hit for hit, row in ranked if int(sections[row]) in target.sections]
    for hit in own:
        shown = shown_by.get(hit.section_id)
        if shown is not None and _shows(hit, shown, target.passage, parents=trace.preset.parents):
            return Blame("found", f"{returned}, and stands in the context as [{shown.number}]", hit.rank)
    budget = f"{trace.preset.max_tokens} tokens of context"
    if not any(hit.section_id in shown_by for hit in own):
        return Blame("budget", f"{returned}, but its section finds no room within {budget}", rank)
    return Blame("budget", f"{returned}, but its section is cut to fit {budget}, and the passage with it", rank)


def _shows(hit: Hit, shown: Presented, passage: Passage, *, parents: bool) -> bool:
    """Whether what is shown of the hit's section holds one of the spans, as far as the section does."""
    if not passage.verbatim:
        return True
    base = hit.section_start if parents else hit.start - len(hit.lead)
    visible = [(base + start, base + end) for start, end in shown.spans]
    for start, end in passage.spans:
        wanted = range(max(start, hit.section_start), min(end, hit.section_end))
        held = sum(max(0, min(wanted.stop, e) - max(wanted.start, s)) for s, e in visible)
        if wanted and held >= len(wanted):
            return True
    return False


def _no_candidate(trace: Trace, places: Sequence[Place]) -> Blame:
    legs = [p for p in places if p.used and p.stage.partition(" ")[0] in LEGS]
    ranks = [p.rank for p in legs if p.rank is not None]
    told = "; ".join(
        f"{p.stage} ranks it {p.rank} of {p.of}" if p.rank is not None else f"{p.stage} has no word of the query in it"
        for p in legs
    )
    best = min(ranks, default=None)
    if best is not None and best <= trace.candidates:
        message = f"HNSW overlooked it: searched exactly it is among the first {trace.candidates} ({told})"
    else:
        message = f"no leg has it among its first {trace.candidates}: {told}"
    return Blame("not_a_candidate", message, best)


def _covered_by(trace: Trace, target: Target) -> str | None:
    """The span of the section whose better chunk overlaps the target's candidates; None where nothing does."""
    assert trace.found is not None
    taken = trace.sections_by(trace.scored_by[-1])
    if section_rank(trace, taken, target) is not None:
        return None
    layout = trace.opened.index.layout
    own = target.rows[np.isin(target.rows, trace.found.candidates.rows)]
    covering = next(
        row
        for row in taken
        if layout.document[row] == layout.document[own[0]]
        and ((layout.start[own] < layout.end[row]) & (layout.start[row] < layout.end[own])).any()
    )
    return f"{layout.section_start[covering]}:{layout.section_end[covering]}"


def _below_floor(trace: Trace, target: Target) -> Blame:
    assert trace.found is not None
    before = [ranking for stage, ranking in trace.found.handed_on.items() if stage != "relevance"][-1]
    rank = section_rank(trace, before.rows, target)
    judged = trace.found.handed_on["relevance"].relevance
    relevance = judged[before.rows[rank - 1]] if rank is not None else 0.0
    message = (
        f"it ranks {rank}, but its relevance {relevance:.3f} is below the floor of {trace.strategy.min_relevance:g}"
        " (min_relevance)"
    )
    return Blame("min_relevance", message, rank)


def _pushed_out(
    trace: Trace, places: Sequence[Place], target: Target, *, window: int, reranked: int | None = None
) -> Blame:
    """Who moved it out of the window, looking back from the stage that was the last to rank it."""
    ranks = {stage: _rank_of(places, stage) for stage in trace.scored_by}
    last = reranked or ranks[trace.scored_by[-1]]
    goes_on = f"only the first {window} go on"
    chain: list[tuple[Reason, str, int | None]] = [
        ("fusion", "fusing both legs", ranks["fused"]),
        ("evidence", "the evidence of other documents", ranks.get("evidence", ranks["fused"])),
        ("exact", "putting chunks with the query's identifiers in front", ranks[trace.scored_by[-1]]),
        ("reranking", "reranking", last),
    ]
    leg, best = _best_leg(trace, target)
    before = [best, *(rank for _, _, rank in chain)]
    for (reason, who, now), earlier in reversed(list(zip(chain, before[:-1], strict=True))):
        if earlier is not None and now is not None and earlier <= window < now:
            whence = f" by {leg}" if reason == "fusion" else ""
            return Blame(reason, f"{who} moves it from {earlier}{whence} to {now}, and {goes_on}", last)
    return Blame("cut", f"it ranks {last}, and {goes_on}", last)


def _best_leg(trace: Trace, target: Target) -> tuple[str, int | None]:
    """The leg that ranks it best, and where; no rank where one leg alone was searched by."""
    assert trace.found is not None
    scored = [leg for leg in LEGS if leg in trace.found.candidates.scores]
    ranks = {leg: section_rank(trace, trace.sections_by(leg), target) for leg in scored}
    found = {leg: rank for leg, rank in ranks.items() if rank is not None}
    best = min(found, key=lambda leg: found[leg], default="")
    return best, found[best] if len(scored) > 1 and best else None


def _rank_of(places: Sequence[Place], stage: str) -> int | None:
    return next((p.rank for p in places if p.stage == stage), None)
