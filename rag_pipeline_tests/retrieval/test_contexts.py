import pytest

from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.retrieval.contexts import ChosenContext, chosen_context
from rag_pipeline.schema import Release

RELEASE = Release(
    "r",
    "c",
    "b",
    {},
    {
        "hybrid": {"vector_weight": 0.6},
        "prd": {"vector_weight": 0.7, "transform": "hyde", "reranker": "flashrank", "strict": True},
    },
    "hybrid",
    "",
    contexts={
        "chatbot": {"expand": True, "diversity": 0.3, "max_chunks": 8, "max_tokens": 2000, "vector_weight": 0.5},
        "agent": {"rerank": True, "max_chunks": 5},
        "prd": {"strategy": "prd", "rerank": True},
    },
)


def choose(name: str, strategy: str | None = None, **overrides: object) -> ChosenContext:
    return chosen_context(RELEASE, name, strategy=strategy, overrides=overrides)


def test_a_preset_sets_how_its_strategy_searches() -> None:
    chosen = choose("chatbot")
    strategy = chosen.strategy
    assert (chosen.strategy_name, strategy.vector_weight, strategy.transform) == ("hybrid", 0.5, "template")
    assert (strategy.reranker, strategy.diversity, strategy.top_k) == ("none", 0.3, 8)
    assert chosen.context.max_tokens == 2000
    agent = choose("agent").strategy
    assert (agent.reranker, agent.transform, agent.vector_weight) == ("maxsim", "none", 0.6)


def test_a_strategys_own_reranker_and_transform_are_taken_where_the_preset_wants_any() -> None:
    assert choose("prd").strategy.reranker == "flashrank"
    assert choose("prd").strategy.transform == "none"  # the preset does not expand
    assert choose("prd", expand=True).strategy.transform == "hyde"


def test_what_a_preset_does_not_say_is_the_strategys() -> None:
    assert choose("prd").strategy.strict
    assert not choose("prd", strict=False).strategy.strict
    assert choose("agent", min_relevance=0.2).strategy.min_relevance == 0.2


def test_overrides_have_the_last_word_and_last_one_call() -> None:
    chosen = choose("chatbot", max_chunks=3, max_tokens=50, vector_weight=0.9, candidates=7, expand=False)
    strategy = chosen.strategy
    assert (strategy.top_k, chosen.context.max_tokens, strategy.candidates) == (3, 50, 7)
    assert (strategy.vector_weight, strategy.transform) == (0.9, "none")
    assert choose("chatbot", transform="rewrite").strategy.transform == "rewrite"
    assert choose("chatbot", top_k=2).strategy.top_k == 2
    assert choose("chatbot").strategy.top_k == 8


def test_a_strategy_named_by_the_call_searches_in_its_own_way() -> None:
    chosen = choose("chatbot", "prd")
    strategy = chosen.strategy
    assert (chosen.strategy_name, strategy.vector_weight) == ("prd", 0.7)
    assert (strategy.transform, strategy.reranker) == ("hyde", "flashrank")
    assert (strategy.diversity, strategy.top_k) == (0.3, 8)
    assert choose("chatbot", "prd", rerank=False).strategy.reranker == "none"


def test_what_is_not_known() -> None:
    with pytest.raises(UnknownName, match=r"unknown context 'chatbto' \(did you mean 'chatbot'\?\); known: agent"):
        choose("chatbto")
    with pytest.raises(UnknownName, match=r"unknown override 'max_chunk' .*known: candidates, diversity"):
        choose("chatbot", max_chunk=3)
    with pytest.raises(UnknownName, match="unknown strategy 'gone'"):
        choose("chatbot", "gone")
    with pytest.raises(InvalidSettings, match="context chatbot: max_tokens"):
        choose("chatbot", max_tokens=0)
