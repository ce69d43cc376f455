"""Why an expected passage is not found: the questions in their order, from the ledger to the token budget.

Whoever calls this reads the data directory, so is an operator; the principal is an argument like any other. Rights come
before everything that depends on the text: of a document that the principal may not read, only that is said.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.evaluation.debug.blame import blame
from rag_pipeline.evaluation.debug.ledger import stored_document
from rag_pipeline.evaluation.debug.passage import Expected, Target, find_passage, target_of
from rag_pipeline.evaluation.debug.places import Legs, leg_places, legs_of, stage_places
from rag_pipeline.evaluation.debug.suggest import Outcome, suggest
from rag_pipeline.evaluation.debug.trace import Trace, rows_in, trace
from rag_pipeline.evaluation.debug.unindexed import without_chunk, without_document
from rag_pipeline.evaluation.debug.values import Asked, Diagnosis, Nearness, Suggestion, told
from rag_pipeline.evaluation.debug.words import terms_of
from rag_pipeline.retrieval.scope import readable_documents, scope
from rag_pipeline.retrieval.transforms.registry import NEED_LLM

LOCAL_RERANKERS = frozenset({"none", "lexical", "maxsim"})
"""Those that other strategies may have to be asked too: no server, and no model that may be missing."""


def diagnose(traced: Trace, expected: Expected, *, models: Path) -> Diagnosis:
    """Raises what `retrieve` raises."""
    index, principal = traced.opened.index, traced.asked.principal
    stored = stored_document(index, expected.document)
    readable = readable_documents(index, principal=principal)
    if stored is None:
        return without_document(index, expected, readable=readable, principal=principal)
    if expected.document not in readable:
        return Diagnosis(
            str(expected),
            None,
            "not_permitted",
            f"{told(principal)} may not read {expected.document}",
            suggestions=(Suggestion("ask as someone its access list admits, or change the document's `access`"),),
        )
    notes: tuple[str, ...] = ()
    document = stored.canonical_id or expected.document
    if document != expected.document:
        notes = (f"{expected.document} has the same text as {document}, which is found in its place",)
        stored = stored_document(index, document) or stored
    passage = find_passage(index, expected, document=document, text=stored.text)
    target = target_of(index, passage)
    if not passage.spans:
        found = _no_passage(expected, document)
    elif not len(target.rows):
        found = without_chunk(index, expected, passage, stored)
    elif not len(target.within(traced.mask).rows):
        found = _filtered_out(traced, expected, target, models=models)
    else:
        found = _searched(traced, expected, target.within(traced.mask), models=models)
    return replace(found, notes=notes)


def _no_passage(expected: Expected, document: str) -> Diagnosis:
    return Diagnosis(
        str(expected),
        document,
        "no_such_passage",
        f"{document} has no such heading, text or span; it may have changed since",
        suggestions=(Suggestion("copy the quote from the document as it is now, or name a heading"),),
    )


def _filtered_out(traced: Trace, expected: Expected, target: Target, *, models: Path) -> Diagnosis:
    """The principal may read the document, so a filter it is."""
    asked, index = traced.asked, traced.opened.index
    excluding = [
        key
        for key, value in traced.filters.items()
        if not len(rows_in(scope(index, filters={key: value}, principal=asked.principal), target.rows))
    ] or list(traced.filters)  # where none does alone, all together do
    settings: dict[str, Any] = {}
    changed = asked
    if given := [key for key in excluding if key in asked.filters]:
        settings["filters"] = {key: value for key, value in asked.filters.items() if key not in given}
        changed = replace(changed, filters=settings["filters"])
    if any(key in traced.read for key in excluding):
        settings["read_filters"] = "none"
        changed = replace(changed, overrides={**asked.overrides, "read_filters": "none"})
    again = _again(traced, changed, target, models=models).blame
    works = again.reason == "found"
    names = " and ".join(excluding)
    return Diagnosis(
        str(expected),
        target.passage.document,
        "filtered_out",
        f"the filter on {names} leaves it out",
        suggestions=(
            Suggestion(
                f"drop the filter on {names}, or correct the document's metadata",
                settings,
                again.rank if works else None,
                works,
                again.message,
            ),
        ),
    )


def _searched(traced: Trace, expected: Expected, target: Target, *, models: Path) -> Diagnosis:
    legs = legs_of(traced, models=models)
    places = (*leg_places(traced, legs, target), *stage_places(traced, target))
    found = blame(traced, places, target)

    def retry(settings: Mapping[str, Any]) -> Outcome:
        changed = {**traced.asked.overrides, "strict": False, **settings}
        return _again(traced, replace(traced.asked, overrides=changed), target, models=models)

    ranks = _by_strategy(traced, target, models=models)
    suggestions = () if found.reason == "found" else suggest(traced, found, places, retry=retry)
    if found.reason not in ("found", "budget") and (best := _best(ranks)) is not None:
        advice = Suggestion("ask by another strategy", {"strategy": best}, ranks[best], True, f"it ranks {ranks[best]}")
        suggestions = (advice, *suggestions)
    return Diagnosis(
        str(expected),
        target.passage.document,
        found.reason,
        found.message,
        rank=found.rank if found.reason in ("found", "budget") else None,
        places=places,
        terms=terms_of(traced, traced.query, target=target),
        nearness=_nearness(traced, legs, target),
        suggestions=suggestions,
        strategies=ranks,
    )


def _again(traced: Trace, asked: Asked, target: Target, *, models: Path) -> Outcome:
    again = trace(traced.opened, asked, models=models)
    inside = target.within(again.mask)
    places = (*leg_places(again, legs_of(again, models=models), inside), *stage_places(again, inside))
    skipped = tuple(m for m in again.markers if "=skipped" in m and m not in traced.markers)
    return Outcome(blame(again, places, inside), skipped)


def _by_strategy(traced: Trace, target: Target, *, models: Path) -> dict[str, int | None]:
    """With the same number of results. A strategy that was skipped in part has no entry."""
    ranks: dict[str, int | None] = {}
    overrides = {"top_k": traced.strategy.top_k, **traced.asked.overrides, "strict": False}
    for name, stored in traced.opened.release.strategies.items():
        if name == traced.strategy_name or stored["transform"] in NEED_LLM or stored["reranker"] not in LOCAL_RERANKERS:
            continue
        again = _again(traced, replace(traced.asked, strategy=name, overrides=overrides), target, models=models)
        if not again.skipped:
            ranks[name] = again.blame.rank if again.blame.reason in ("found", "budget") else None
    return ranks


def _best(ranks: Mapping[str, int | None]) -> str | None:
    found = {name: rank for name, rank in ranks.items() if rank is not None}
    return min(found, key=lambda name: found[name], default=None)


def _nearness(traced: Trace, legs: Legs, target: Target) -> Nearness | None:
    scores = legs.scores.get("vector")
    if scores is None:
        return None
    last = np.sort(scores)[::-1][min(traced.candidates, len(scores)) - 1]
    own = scores[np.isin(legs.rows, target.holding)]
    return Nearness(float(own.max()), float(scores.max()), float(last)) if len(own) else None
