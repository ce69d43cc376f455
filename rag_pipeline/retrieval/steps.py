"""One call from its question to what is presented, with what every step handed on.

The stages of the search itself are in `search`; here are the steps around them: which strategy or preset, which scope,
the hits, and the context made of them. `retrieve` shows a part of it, a diagnosis all. It is the one file of this
package that knows the formatter behind it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_pipeline.context.present import Presentation, present
from rag_pipeline.paths import Home
from rag_pipeline.retrieval.clock import Clock
from rag_pipeline.retrieval.contexts import chosen_context
from rag_pipeline.retrieval.explain import stage_ranks
from rag_pipeline.retrieval.hits import make_hits
from rag_pipeline.retrieval.query import normalise
from rag_pipeline.retrieval.query_vector import query_model
from rag_pipeline.retrieval.read_filters import AskedFor, asked_for
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.scope import Mask, scope
from rag_pipeline.retrieval.search import Found, search
from rag_pipeline.retrieval.strategy import chosen_strategy
from rag_pipeline.schema import Hit, Principal
from rag_pipeline.settings.strategy import ContextSettings, StrategySettings


@dataclass(frozen=True, slots=True)
class Steps:
    query: str
    """After repair, as it was asked."""
    wanted: AskedFor
    """What is searched for, and the filters: those given and those the strategy read from the words."""
    strategy_name: str
    strategy: StrategySettings
    preset: ContextSettings | None
    """How the hits were presented; None where they weren't."""
    mask: Mask
    found: Found | None
    """None where the scope holds no chunk."""
    hits: tuple[Hit, ...]
    presented: Presentation | None
    markers: tuple[str, ...]


def take_steps(
    opened: OpenRelease,
    query: str,
    *,
    models: Path,
    strategy: str | None,
    context: str | None,
    filters: Mapping[str, Any] | None,
    principal: Principal | None,
    overrides: Mapping[str, Any],
    present_as: ContextSettings | None = None,
    explain: bool = False,
    clock: Clock | None = None,
) -> Steps:
    """`present_as` says how to present the hits of a call without a `context`. Raises as `retrieve`."""
    clock = clock or Clock()
    preset = present_as
    if context is None:
        name, settings = chosen_strategy(opened.release, strategy, overrides)
    else:
        chosen = chosen_context(opened.release, context, strategy=strategy, overrides=overrides)
        name, settings, preset = chosen.strategy_name, chosen.strategy, chosen.context
    index = opened.index
    asked = normalise(query)
    clock.lap("query")
    wanted = asked_for(
        asked.text,
        given=filters or {},
        index=index,
        principal=principal,
        strategy=settings,
        folder=Home(models.parent).transform_replies,
    )
    if settings.read_filters != "none":
        clock.lap("filter")
    mask = scope(index, filters=wanted.filters, principal=principal)
    clock.lap("scope")
    found: Found | None = None
    hits: tuple[Hit, ...] = ()
    if index.chunks and (mask is None or mask.any()):
        found = search(opened, wanted.text, mask=mask, strategy=settings, models=models, clock=clock)
        ranks = stage_ranks(found.candidates, found.ranking) if explain else None
        hits = make_hits(index, found.ranking, found.candidates, ranks=ranks)
        clock.lap("fetch")
    presented: Presentation | None = None
    if preset is not None:
        fingerprint = opened.release.embedder_fingerprint
        presented = present(
            asked.text,
            hits,
            index=index,
            mask=mask,
            settings=preset,
            own_tokenizer=lambda: query_model(models, fingerprint).tokenizer,
        )
        clock.lap("format")
    said = (*asked.markers, *wanted.markers, *(found.markers if found else ()))
    return Steps(
        query=asked.text,
        wanted=wanted,
        strategy_name=name,
        strategy=settings,
        preset=preset,
        mask=mask,
        found=found,
        hits=hits,
        presented=presented,
        markers=(*said, *(presented.markers if presented else ())),
    )
