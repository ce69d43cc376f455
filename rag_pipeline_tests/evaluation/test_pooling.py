from pathlib import Path

import pytest

from rag_pipeline.errors import StageFailed, UnknownName
from rag_pipeline.evaluation import pooling
from rag_pipeline.evaluation.eval_set import Query
from rag_pipeline.evaluation.pooling import pool_question
from rag_pipeline.retrieval.reader import OpenRelease, open_current
from rag_pipeline.schema import Principal
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document, pumps


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    served = Served(tmp_path / "home", monkeypatch)
    served.publish([*pumps(), document("secret.md", "The pump of the board.", access=("group:board",), category="x")])
    return served


@pytest.fixture
def opened(served: Served) -> OpenRelease:
    return open_current(served.paths)


def test_a_pool_is_the_union_of_what_strategies_find_each_passage_once(served: Served, opened: OpenRelease) -> None:
    pool = pool_question(
        opened, Query("q", "pump oil"), models=served.home.models, strategies=("bm25", "vector"), depth=3
    )
    alone = {name: served.ask("pump oil", strategy=name, top_k=3).hits for name in ("bm25", "vector")}
    expected = {f"{h.doc_id}@{h.start}:{h.end}" for hits in alone.values() for h in hits}
    keys = [p.key for p in pool.passages]
    assert set(keys) == expected and len(keys) == len(expected)
    for name, hits in alone.items():
        found = {f"{h.doc_id}@{h.start}:{h.end}" for h in hits}
        assert {key for key, by in pool.found_by.items() if name in by} == found
    assert any(by == ("bm25", "vector") for by in pool.found_by.values())
    assert (pool.release_id, pool.failures) == (opened.release.release_id, {})
    first = next(p for p in pool.passages if p.document == "pump.md" and p.start == 8)
    assert (first.text, first.title, first.headers) == (
        "The pump moves oil through the valve.",
        "Pump",
        ("Pump", "Part 0"),
    )


def test_the_order_is_seeded_and_tells_nothing_of_ranks(served: Served, opened: OpenRelease) -> None:
    orders = [
        [
            p.key
            for p in pool_question(
                opened, Query("q", "pump oil"), models=served.home.models, strategies=given, seed=seed
            ).passages
        ]
        for seed, given in ((0, ("bm25", "vector")), (0, ("vector", "bm25")), *((n, ("vector",)) for n in range(1, 6)))
    ]
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) > 3
    ranked = [f"{h.doc_id}@{h.start}:{h.end}" for h in served.ask("pump oil", strategy="vector", top_k=10).hits]
    assert any(order[0] != ranked[0] for order in orders)


def test_only_what_the_one_who_asks_may_read_and_wants(served: Served, opened: OpenRelease) -> None:
    def documents(query: Query) -> set[str]:
        pool = pool_question(opened, query, models=served.home.models, strategies=("bm25", "vector"))
        return {p.document for p in pool.passages}

    board = Principal("ann", ("board",))
    assert "secret.md" not in documents(Query("q", "pump of the board"))
    assert "secret.md" in documents(Query("q", "pump of the board", principal=board))
    assert documents(Query("q", "pump", filters={"category": "x"}, principal=board)) == {"secret.md"}
    assert documents(Query("q", "pump", filters={"category": "nothing"})) == set()


def test_a_strategy_that_could_not_run_is_told_and_the_others_pooled(
    served: Served, opened: OpenRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pooling.retrieve_from

    def broken(*arguments, strategy: str, **options):
        assert options["strict"] is True
        if strategy == "vector":
            raise StageFailed("rerank", "timeout", "wait")
        return real(*arguments, strategy=strategy, **options)

    monkeypatch.setattr(pooling, "retrieve_from", broken)
    pool = pool_question(opened, Query("q", "pump"), models=served.home.models, strategies=("vector", "bm25"))
    assert pool.failures == {"vector": "rerank: timeout"} and pool.passages
    with pytest.raises(UnknownName):
        pool_question(opened, Query("q", "pump"), models=served.home.models, strategies=("bm52",))
