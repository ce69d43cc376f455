from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.index.open import Index, open_build
from rag_pipeline.retrieval.candidates import union_candidates
from rag_pipeline.retrieval.dense import nearest
from rag_pipeline.retrieval.lexical import bm25, bm25_scores
from rag_pipeline.retrieval.searches import Search
from rag_pipeline.settings.strategy import StrategySettings
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.stages import build, document

EMBEDDER = WordEmbedder(256)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    texts = [f"pump oil valve filter {n} {'rare' if n == 7 else 'usual'}" for n in range(40)]
    documents = [document(f"{n:02}.md", text) for n, text in enumerate(texts)]
    index = open_build(build(tmp_path_factory.mktemp("candidates"), documents, embedder=EMBEDDER).folder)
    yield index
    index.close()


def vector(text: str) -> np.ndarray:
    return EMBEDDER.embed([text], "query")[0]


def search(text: str, given: np.ndarray | None, *, lexical: bool = True, weight: float = 1.0) -> Search:
    return Search(text, given, lexical, weight)


def test_both_legs_score_the_union(index: Index) -> None:
    strategy = StrategySettings(candidates=1, vector_weight=0.5)
    found = union_candidates(index, [search("rare", vector("pump 30"))], mask=None, strategy=strategy)
    assert found.found == {"vector": 1, "bm25": 1}
    assert found.rows.tolist() == [7, 30]
    assert (found.scores["vector"] > 0).all()
    assert found.scores["bm25"][0] > 0 and found.scores["bm25"][1] == 0
    assert found.scores["fused"].tolist() == [0.5, 0.5]


def test_a_single_leg_keeps_its_scores(index: Index) -> None:
    for weight, leg in ((1, "vector"), (0, "bm25")):
        strategy = StrategySettings(candidates=5, vector_weight=weight)
        given_vector = vector("rare pump") if weight else None
        found = union_candidates(
            index, [search("rare pump", given_vector, lexical=weight < 1)], mask=None, strategy=strategy
        )
        assert found.scores["fused"] is found.scores[leg]
        assert found.found.keys() == {leg}


@pytest.mark.parametrize("search", ["auto", "exact", "hnsw"])
@pytest.mark.parametrize("share", [0.1, 0.5, None])
def test_exact_search_under_a_mask(index: Index, search: str, share: float | None) -> None:
    mask = None if share is None else np.arange(40) < 40 * share
    query = index.vectors[3] + np.random.default_rng(0).normal(size=256).astype(np.float32) * 0.1
    rows, markers = nearest(index, query, mask=mask, limit=3, search=search, exact_limit=10)  # type: ignore[arg-type]
    allowed = np.arange(40) if mask is None else np.flatnonzero(mask)
    scores = np.round((index.vectors @ query).astype(np.float64), 6)
    assert rows.tolist() == sorted(allowed.tolist(), key=lambda row: (-scores[row], row))[:3]
    assert markers == (("search=exact",) if search == "hnsw" and mask is not None else ())


def test_bm25_under_a_mask(index: Index) -> None:
    rows, _ = bm25(index, "rare", mask=None, limit=5)
    assert rows.tolist() == [7]
    rows, _ = bm25(index, "rare", mask=np.arange(40) != 7, limit=5)
    assert rows.tolist() == []
    assert np.flatnonzero(bm25_scores(index, "rare", np.arange(40))).tolist() == [7]


def test_the_rarest_terms_of_a_long_query(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(index.postings), "rarest", lambda self, numbers: numbers[:1])
    assert bm25(index, "rare pump", mask=None, limit=5)[1] == ("bm25=rarest_terms",)
    assert bm25(index, "rare", mask=None, limit=5)[1] == ()


def test_an_empty_union(tmp_path: Path) -> None:
    index = open_build(build(tmp_path, [document("a.md", "x")]).folder)
    found = union_candidates(index, [search("nothing", None)], mask=None, strategy=StrategySettings(vector_weight=0))
    assert found.rows.tolist() == [] and found.scores["fused"].tolist() == []
    index.close()


def test_every_search_adds_candidates_and_its_share_of_the_score(index: Index) -> None:
    strategy = StrategySettings(candidates=1, vector_weight=0.5)
    searches = [search("rare", index.vectors[7], weight=0.6), search("30", index.vectors[30], weight=0.4)]
    found = union_candidates(index, searches, mask=None, strategy=strategy)
    assert found.rows.tolist() == [7, 30]
    assert found.found == {"vector": 2, "bm25": 2}
    own = [union_candidates(index, [one], mask=None, strategy=strategy).rows.tolist() for one in searches]
    assert own == [[7], [30]]
    assert found.scores["original"].tolist() == [1.0, 0.0]
    assert found.scores["fused"].tolist() == [0.6, 0.4]
    alone = union_candidates(index, searches[:1], mask=None, strategy=strategy)
    assert found.scores["bm25"][0] == alone.scores["bm25"][0]  # legs are shown for the query as it was asked


def test_a_passage_that_was_made_up_is_compared_by_vectors_alone(index: Index) -> None:
    strategy = StrategySettings(candidates=1, vector_weight=0.5)
    searches = [
        search("rare", index.vectors[7], weight=0.5),
        search("30", index.vectors[30], lexical=False, weight=0.5),
    ]
    found = union_candidates(index, searches, mask=None, strategy=strategy)
    assert found.found == {"vector": 2, "bm25": 1}
    assert found.scores["fused"].tolist() == [0.5, 0.5]
