import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rag_pipeline.errors import StageFailed
from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.retrieval.relevance import bm25_bound, probabilities
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps

CALIBRATION: dict[str, Any] = {
    "models": {
        "bm25+vector": {"intercept": -3.0, "weights": {"cosine": 2.0, "bm25": 2.0, "agreement": 4.0}},
        "bm25": {"intercept": -1.0, "weights": {"bm25": 4.0}},
    }
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        served = Served(tmp_path_factory.mktemp("relevance") / "home", patch, embedder=WordEmbedder(512))
        served.content = {"calibration": CALIBRATION}
        served.publish(pumps())
        yield served


@pytest.fixture
def index(world: Served) -> Index:
    return open_current(world.paths).index


def test_probabilities_by_hand() -> None:
    model = {"intercept": -1.0, "weights": {"bm25": 4.0}}
    found = probabilities({"bm25": np.array([0.0, 0.25, 1.0])}, model).tolist()
    assert found == [round(1 / (1 + math.exp(1)), 6), 0.5, round(1 / (1 + math.exp(-3)), 6)]
    assert probabilities({"bm25": np.array([1e9])}, model).tolist() == [1.0]


def test_the_most_that_a_query_could_score(index: Index) -> None:
    """A word that no chunk holds can't be found, so a query with one is never fully answered."""
    chunks = index.chunks
    rarest = math.log(1 + (chunks + 0.5) / 0.5) * 2.2
    assert bm25_bound(index, "zzz") == pytest.approx(rarest)
    assert bm25_bound(index, "gloves") == pytest.approx(math.log(1 + (chunks - 0.5) / 1.5) * 2.2)
    assert bm25_bound(index, "gloves zzz") == pytest.approx(bm25_bound(index, "gloves") + rarest)
    assert bm25_bound(index, "?!") == 1.0


def test_every_result_has_a_probability_that_follows_the_evidence(world: Served) -> None:
    result = world.ask("wear gloves")
    first, last = result.hits[0], result.hits[-1]
    assert 0 <= last.relevance_score < first.relevance_score <= 1
    assert type(first.relevance_score) is float
    assert "relevance=uncalibrated" not in result.markers
    shown = world.ask("wear gloves", context="agent").formatted_context
    assert f"relevance {round(first.relevance_score * 100)} %" in shown


def test_evidence_does_not_depend_on_what_else_was_found(world: Served) -> None:
    alone = world.ask("wear gloves", filters={"title": "Pump"}, top_k=1).hits[0]
    assert alone.relevance_score == world.ask("wear gloves", candidates=2).hits[0].relevance_score


def test_legs_without_a_model_have_no_probability(world: Served) -> None:
    assert world.ask("gloves", strategy="bm25").hits[0].relevance_score is not None
    result = world.ask("gloves", strategy="vector")
    assert result.hits[0].relevance_score is None and "relevance=uncalibrated" in result.markers


def test_a_floor_drops_and_counts(world: Served) -> None:
    everything = world.ask("wear gloves", top_k=8)
    scores = sorted((hit.relevance_score for hit in everything.hits), reverse=True)
    result = world.ask("wear gloves", min_relevance=scores[1])
    assert [hit.relevance_score >= scores[1] for hit in result.hits] == [True, True]
    assert result.candidates["below_min_relevance"] == len(everything.hits) - 2
    assert result.empty_reason is None


def test_an_honest_empty_answer(world: Served) -> None:
    result = world.ask("quantum bananas", min_relevance=0.9)
    assert (result.hits, result.empty_reason) == ((), "below_min_relevance")
    assert world.ask("quantum bananas", strategy="bm25", min_relevance=0.9).empty_reason == "no_match"


def test_a_floor_without_a_calibration_is_not_guessed(world: Served) -> None:
    result = world.ask("gloves", strategy="vector", min_relevance=0.9)
    assert result.hits and "min_relevance=skipped:uncalibrated" in result.markers
    with pytest.raises(StageFailed, match=r"min_relevance could not run \(uncalibrated\)"):
        world.ask("gloves", strategy="vector", min_relevance=0.9, strict=True)
