"""Answers that share their candidates must be the answers of strategies that run alone, to the bit."""

from dataclasses import replace

import numpy as np
import pytest

from rag_pipeline.evaluation import sharing as module
from rag_pipeline.evaluation.eval_set import Query
from rag_pipeline.evaluation.measure import asker
from rag_pipeline.evaluation.sharing import Sharing
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.schema import Principal
from rag_pipeline.settings.strategy import StrategySettings
from rag_pipeline_tests.served import STRATEGIES, Served
from rag_pipeline_tests.stages import document, pumps

QUERIES = (
    Query("oil", "pump oil valve"),
    Query("agent", "create_agent"),
    Query("cafe", "café opens"),
    Query("filtered", "pump oil", filters={"category": "manual"}),
    Query("nobody", "pump oil", filters={"category": "none"}),
    Query("secret", "pump salary", principal=Principal("ann")),
    Query("public", "pump salary"),
    Query("system", "pump salary", principal=Principal.system()),
)


@pytest.fixture
def opened(tmp_path, monkeypatch):
    served = Served(tmp_path / "home", monkeypatch)
    expanded = StrategySettings(transform="template").model_dump(mode="json")
    more = {"expanded": expanded, "few": StrategySettings(candidates=2, top_k=2).model_dump(mode="json")}
    served.content = {"strategies": {**STRATEGIES, **more}}
    manual = document("manual.md", "A pump for oil.", "Its oil valve.", category="manual")
    secret = document("pay.md", "The salary of a pump maker.", access=("user:ann",))
    served.publish([*pumps(), manual, secret])
    return served, open_current(served.paths)


def without_times(result):
    return replace(result, timings_ms={}, cached={})


def test_every_strategy_answers_as_it_does_alone(opened):
    served, release = opened
    sharing = Sharing(release)
    models = served.home.models
    for query in QUERIES:
        for name in release.release.strategies:
            alone = asker(release, name, models=models)(query)
            shared = asker(sharing.opened, name, models=models, after=sharing.alone)(query)
            assert without_times(shared) == without_times(alone), (query.id, name)
    assert {hit.doc_id for hit in asker(sharing.opened, "hybrid", models=models)(QUERIES[6]).hits} == {
        hit.doc_id for hit in asker(release, "hybrid", models=models)(QUERIES[6]).hits
    }


def test_what_one_principal_may_see_is_not_kept_for_another(opened):
    served, release = opened
    sharing = Sharing(release)
    found = {
        query.id: {hit.doc_id for hit in asker(sharing.opened, "hybrid", models=served.home.models)(query).hits}
        for query in QUERIES[5:]
    }
    assert "pay.md" in found["secret"] and "pay.md" in found["system"] and "pay.md" not in found["public"]


def test_each_leg_searches_once_a_question(opened, monkeypatch):
    served, release = opened
    calls = []
    for name in ("nearest", "bm25"):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, _r=real, _n=name, **o: calls.append(_n) or _r(*a, **o))
    sharing = Sharing(release)
    for name in ("hybrid", "rrf", "vector", "bm25"):
        asker(sharing.opened, name, models=served.home.models)(QUERIES[0])
    assert sorted(calls) == ["bm25", "nearest"]
    asker(sharing.opened, "few", models=served.home.models)(QUERIES[0])  # asks for other candidates
    assert len(calls) == 4


def test_what_was_kept_is_charged_with_the_time_it_took(opened, monkeypatch):
    """Without it the second strategy looks faster than the first, and quality against latency is an accident."""
    served, release = opened
    ticks = iter(np.arange(0, 1e6, 0.001))  # every look at the clock is a millisecond after the one before
    monkeypatch.setattr(module, "perf_counter", lambda: float(next(ticks)))
    sharing = Sharing(release)
    ask = [asker(sharing.opened, name, models=served.home.models) for name in ("hybrid", "rrf")]
    first = sharing.alone(ask[0](QUERIES[0]))
    raw = ask[1](QUERIES[0])
    second = sharing.alone(raw)
    assert second.timings_ms["vector"] == pytest.approx(raw.timings_ms["vector"] + 1.0)
    assert second.timings_ms["bm25"] == pytest.approx(raw.timings_ms["bm25"] + 1.0)
    assert second.timings_ms["embed"] == pytest.approx(raw.timings_ms["embed"] + first.timings_ms["embed"])
    added = sum(second.timings_ms[s] - raw.timings_ms[s] for s in ("vector", "bm25", "embed", "fetch"))
    assert second.timings_ms["total"] == pytest.approx(raw.timings_ms["total"] + added)


def test_little_is_kept(opened, monkeypatch):
    served, release = opened
    monkeypatch.setattr(module, "KEPT", 2)
    sharing = Sharing(release)
    for query in QUERIES:
        for name in ("hybrid", "rrf"):
            alone = asker(release, name, models=served.home.models)(query)
            shared = asker(sharing.opened, name, models=served.home.models)(query)
            assert without_times(shared) == without_times(alone)
    assert len(sharing._bm25._found) <= 2


def test_large_results_are_kept_within_their_bytes(opened, monkeypatch):
    served, release = opened
    monkeypatch.setattr(module, "KEPT_BYTES", 300)
    sharing = Sharing(release)
    for query in QUERIES:
        for name in ("hybrid", "rrf", "few"):
            alone = asker(release, name, models=served.home.models)(query)
            shared = asker(sharing.opened, name, models=served.home.models)(query)
            assert without_times(shared) == without_times(alone)
        for kept in (sharing._bm25, sharing._nearest):
            size = sum(module._size(key) + module._size(found) for key, (found, _) in kept._found.items())
            assert kept._bytes == size and (size <= 300 or len(kept._found) == 1)
