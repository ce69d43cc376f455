from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.lexical import LexicalReranker
from rag_pipeline.text.analyzer import Analyzer

RERANKER = LexicalReranker(Analyzer())


def order(query: str, **texts: str) -> str:
    return "".join(i for i, _ in RERANKER.rerank(query, [Passage(i, text) for i, text in texts.items()]))


def test_more_of_the_terms_first() -> None:
    assert order("rotate encryption keys", a="unrelated words", b="rotate it", c="rotate the encryption keys") == "cba"


def test_the_rare_term_weighs_more() -> None:
    assert order("pump torque", a="pump a", b="pump b", c="torque c", d="pump d")[0] == "c"


def test_the_phrase_before_the_scattered_words() -> None:
    assert order("access control", a="control of access", b="the access control list") == "ba"


def test_near_before_far_and_early_before_late() -> None:
    filler = "x " * 40
    assert order("alpha beta", a=f"alpha {filler} beta", b="alpha y beta " + filler) == "ba"
    assert order("alpha", a=filler + "alpha", b="alpha " + filler) == "ba"


def test_scores_lie_in_0_to_1() -> None:
    assert RERANKER.rerank("access control", [Passage("a", "access control")]) == (("a", 1.0),)
    assert RERANKER.rerank("access control", [Passage("a", "nothing")]) == (("a", 0.0),)
    assert RERANKER.rerank("", [Passage("a", "nothing")]) == (("a", 0.0),)


@given(st.text(), st.lists(st.text(), max_size=5))
def test_any_text(query: str, texts: list[str]) -> None:
    passages = [Passage(str(n), text) for n, text in enumerate(texts)]
    ranked = RERANKER.rerank(query, passages)
    assert sorted(i for i, _ in ranked) == [p.id for p in passages]
    assert all(0 <= score <= 1 for _, score in ranked)
