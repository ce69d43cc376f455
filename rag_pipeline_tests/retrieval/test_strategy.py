import pytest

from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.retrieval.strategy import chosen_strategy
from rag_pipeline.schema import Release

RELEASE = Release("r", "c", "b", {}, {"bm25": {"vector_weight": 0.0}, "hybrid": {"top_k": 7}}, "hybrid", "")


def test_the_default_and_a_named_one() -> None:
    assert chosen_strategy(RELEASE, None, {})[0] == "hybrid"
    name, settings = chosen_strategy(RELEASE, "bm25", {"top_k": 3})
    assert (name, settings.vector_weight, settings.top_k) == ("bm25", 0, 3)
    assert chosen_strategy(RELEASE, None, {})[1].top_k == 7


def test_what_is_not_known() -> None:
    with pytest.raises(
        UnknownName, match=r"unknown strategy 'bm52'.*known: bm25, hybrid in release \w+; .*next `rag-pipeline reindex`"
    ):
        chosen_strategy(RELEASE, "bm52", {})
    with pytest.raises(UnknownName, match="unknown override 'k'; known: candidates, diversity, evidence"):
        chosen_strategy(RELEASE, None, {"k": 3})
    with pytest.raises(InvalidSettings, match="strategy hybrid: top_k"):
        chosen_strategy(RELEASE, None, {"top_k": -3})
