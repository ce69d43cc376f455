from collections.abc import Iterator

import pytest

from rag_pipeline.errors import ModelUnavailable, StageFailed, UnknownName
from rag_pipeline.retrieval import rerank as module
from rag_pipeline_tests.retrieval.fake_reranker import FakeReranker, install
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document, pumps

QUERY = "the pump oil valve"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        served = Served(tmp_path_factory.mktemp("rerank") / "home", patch)
        served.publish([*pumps(), *(document(f"{n}.md", f"the pump has number {n}") for n in range(8))])
        yield served


@pytest.fixture
def fake(world: Served, monkeypatch: pytest.MonkeyPatch) -> FakeReranker:
    """Likes the last of the candidates best, whatever it is."""
    order: list[str] = []

    def score(_: str, passage: object) -> float:
        order.append(passage.id)  # type: ignore[attr-defined]
        return float(len(order))

    return install(monkeypatch, score)


def ids(result: object) -> list[str]:
    return [hit.chunk_id for hit in result.hits]  # type: ignore[attr-defined]


def test_the_same_sections_in_another_order_and_the_rest_behind(world: Served, fake: FakeReranker) -> None:
    plain = world.ask(QUERY, top_k=8)
    result = world.ask(QUERY, top_k=8, reranker="fake", rerank_candidates=3, rerank_weight=1.0)
    first, second, third, *rest = ids(plain)
    assert ids(result) == [third, second, first, *rest]
    ((query, passages),) = fake.calls
    assert query == QUERY and [p.id for p in passages] == [first, second, third]
    texts = {p.id: p.text for p in passages}
    assert texts["pump.md#c0"] == "Pump > Part 0\nThe pump moves oil through the valve."
    scores = [hit.score for hit in result.hits]
    assert scores[:3] == [1.0, 0.5, 0.0]
    assert scores == sorted(scores, reverse=True) and all(score <= 0 for score in scores[3:])
    assert result.hits[0].scores["rerank"] == 3.0
    assert "rerank" not in result.hits[3].scores
    assert result.candidates["reranked"] == 3
    assert result.timings_ms.keys() >= {"rerank", "select"}


def test_a_blend_keeps_what_the_first_stage_said(world: Served, fake: FakeReranker) -> None:
    plain = world.ask(QUERY, top_k=5)
    assert ids(world.ask(QUERY, top_k=5, reranker="fake", rerank_weight=0.0)) == ids(plain)


def test_only_so_many_go_on(world: Served, fake: FakeReranker) -> None:
    assert len(world.ask(QUERY, top_k=8, reranker="fake", rerank_top=2).hits) == 2


def test_one_reranker_a_process(world: Served, fake: FakeReranker) -> None:
    for _ in range(3):
        world.ask(QUERY, reranker="fake")
    assert (fake.opened, len(fake.calls)) == (1, 3)


def test_no_call_where_nothing_matches(world: Served, fake: FakeReranker) -> None:
    result = world.ask(QUERY, reranker="fake", filters={"language": "xx"})
    assert (result.hits, result.empty_reason) == ((), "filter_empty")
    assert world.ask("zzz", strategy="bm25", reranker="fake").empty_reason == "no_match"
    assert fake.calls == [] and fake.opened == 0


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (lambda fake: setattr(fake, "score", lambda *_: float("nan")), "no_scores"),
        (lambda fake: setattr(fake, "score", lambda *_: 0.5), "all_equal"),
        (lambda fake: setattr(fake, "score", lambda *_: 1 / 0), "error_ZeroDivisionError"),
        (lambda fake: setattr(fake, "seconds", 0.3), "timeout"),
    ],
)
def test_a_reranker_that_fails_leaves_the_first_order_and_a_marker(
    world: Served, fake: FakeReranker, fault: object, why: str
) -> None:
    fault(fake)  # type: ignore[operator]
    options = {"reranker": "fake", "reranker_options": {"seconds": 0.05 if why == "timeout" else 5}}
    plain, result = world.ask(QUERY), world.ask(QUERY, **options)
    assert ids(result) == ids(plain)
    assert [hit.score for hit in result.hits] == [hit.score for hit in plain.hits]
    assert f"rerank=skipped:{why}" in result.markers
    with pytest.raises(StageFailed, match=why):
        world.ask(QUERY, strict=True, **options)


def test_a_model_that_is_not_here(world: Served) -> None:
    module.forget()
    result = world.ask(QUERY, reranker="maxsim")
    assert "rerank=skipped:unavailable" in result.markers and ids(result) == ids(world.ask(QUERY))
    with pytest.raises(ModelUnavailable):
        world.ask(QUERY, reranker="maxsim", strict=True)
    with pytest.raises(UnknownName, match="unknown reranker 'telepathy'"):
        world.ask(QUERY, reranker="telepathy")
