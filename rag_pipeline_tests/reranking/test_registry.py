from pathlib import Path

import pytest

from rag_pipeline.errors import ModelUnavailable, StageFailed, UnknownName
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.guard import REOPENS, guard
from rag_pipeline.reranking.registry import RERANKERS, RerankerOptions, open_reranker


@pytest.mark.parametrize("name", [name for name in RERANKERS if name not in ("lexical", "cross_encoder")])
def test_nothing_on_this_machine_is_a_marker_and_no_crash(name: str, tmp_path: Path) -> None:
    """Whatever is missing (model, package, key), the query is answered in first-stage order and says so."""
    options = RerankerOptions(models=tmp_path, fingerprint="none", environ={})
    first = (("a", 2.0), ("b", 1.0))
    guarded = guard(name, lambda: open_reranker(name, options), seconds=5)
    found = guarded.rerank("q", [Passage("a", "x"), Passage("b", "y")], first, weight=0.5)
    assert found.ranked == first
    assert found.markers[0].startswith("rerank=skipped:") and found.markers[1:] == (REOPENS,)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises((ModelUnavailable, StageFailed)):
        open_reranker(name, options)


def test_the_lexical_one_needs_nothing(tmp_path: Path) -> None:
    reranker = open_reranker("lexical", RerankerOptions(models=tmp_path))
    assert reranker.rerank("pump", [Passage("a", "valve"), Passage("b", "pumps")])[0][0] == "b"


def test_a_cross_encoder_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="named"):
        open_reranker("cross_encoder", RerankerOptions(models=tmp_path))


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'maxsim'.*cohere"):
        open_reranker("maxsin", RerankerOptions(models=tmp_path))
