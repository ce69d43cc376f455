from collections.abc import Iterator

import pytest

from rag_pipeline.errors import StageFailed, UnknownName
from rag_pipeline.retrieval import searches
from rag_pipeline_tests.retrieval.transforms.stub_llm import StubLlm
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        served = Served(tmp_path_factory.mktemp("searches") / "home", patch)
        served.publish(pumps())
        yield served


def use(monkeypatch: pytest.MonkeyPatch, llm: StubLlm | None) -> None:
    monkeypatch.setattr(searches, "query_llm", lambda **_: llm)


def test_variants_are_embedded_and_searched_for_besides_the_query(world: Served) -> None:
    world.embedder.calls.clear()
    result = world.ask("oil valve", transform="template")
    assert world.embedder.calls[0] == ["oil valve"] and len(world.embedder.calls) > 1
    assert result.hits[0].doc_id == "pump.md"
    assert result.hits[0].scores.keys() >= {"original", "fused"}
    assert result.query == "oil valve"
    again = world.ask("oil valve", transform="template")
    assert again.cached == {"vector": len(world.embedder.calls)} and again.hits == result.hits


def test_a_made_up_passage_finds_by_meaning_only(world: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, StubLlm("Call create_agent to make an agent."))
    result = world.ask("how is one born", transform="hyde")
    assert result.hits[0].content == "Call create_agent to make an agent."
    assert not any(hit.scores["bm25"] for hit in result.hits)  # none of the query's own words
    world.embedder.calls.clear()
    assert world.ask("gloves", strategy="bm25", transform="hyde").hits[0].content == "Wear gloves near the pump."
    assert world.embedder.calls == []


@pytest.mark.parametrize(
    ("llm", "why"),
    [
        (None, "unconfigured"),
        (StubLlm(""), "empty"),
        (StubLlm(failure="timeout"), "timeout"),
        (StubLlm("I'm sorry, I can't help with that."), "refused"),
    ],
)
def test_the_query_is_searched_for_whatever_the_model_does(
    world: Served, monkeypatch: pytest.MonkeyPatch, llm: StubLlm | None, why: str
) -> None:
    use(monkeypatch, llm)
    result = world.ask("wear gloves", transform="hyde")
    assert result.hits == world.ask("wear gloves").hits
    assert f"transform=skipped:{why}" in result.markers
    with pytest.raises(StageFailed, match=why):
        world.ask("wear gloves", transform="hyde", strict=True)


def test_a_flood_of_text_is_cut(world: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, StubLlm("oil " * 25_000))
    result = world.ask("wear gloves", transform="hyde")
    assert "transform=cut" in result.markers
    assert result.hits[0].content == "Wear gloves near the pump."


def test_an_unknown_transform(world: Served) -> None:
    with pytest.raises(UnknownName, match=r"unknown transform 'hide' \(did you mean 'hyde'"):
        world.ask("x", transform="hide")


def test_no_model_is_asked_where_nothing_matches(world: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = StubLlm("text")
    use(monkeypatch, llm)
    assert world.ask("pump", transform="hyde", filters={"language": "xx"}).empty_reason == "filter_empty"
    assert llm.asked == []
