from collections.abc import Sequence

import numpy as np
import pytest

from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.maxsim import MaxSimReranker, max_similarity, rarity_weights


class Letters:
    """Each letter is a token; its vector is the axis of that letter."""

    fingerprint = "letters"

    def __init__(self) -> None:
        self.read: list[int] = []

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [[ord(letter) - ord("a") for letter in text.replace(" ", "")] for text in texts]

    def vectors(self, texts: Sequence[Sequence[int]]) -> list[np.ndarray]:
        self.read += [len(ids) for ids in texts]
        return [np.eye(26, dtype=np.float32)[list(ids)] for ids in texts]


def test_max_similarity_by_hand() -> None:
    query = np.array([[1, 0], [0, 1]], np.float32)
    passage = np.array([[0.6, 0.8], [0, -1]], np.float32)
    assert max_similarity(query, passage) == pytest.approx((0.6 + 0.8) / 2)


def test_the_share_of_the_query_that_the_passage_has() -> None:
    ranked = MaxSimReranker(Letters(), rarity=False).rerank(
        "abcd", [Passage("x", "ab"), Passage("y", "dcba"), Passage("z", "qq")]
    )
    assert ranked == (("y", 1.0), ("x", 0.5), ("z", 0.0))


def test_what_few_candidates_hold_weighs_more() -> None:
    passages = [Passage("x", "ab"), Passage("y", "ac"), Passage("z", "aq")]
    # a is held by 3 of 3, c by 1 of 3: ln(1 + 0.5 / 3.5) and ln(1 + 2.5 / 1.5).
    assert rarity_weights([0, 2], [[0, 1], [0, 2], [0, 16]]) == pytest.approx([0.133531, 0.980829], abs=1e-6)
    ranked = MaxSimReranker(Letters()).rerank("ac", passages)
    assert ranked == (("y", 1.0), ("x", 0.119828), ("z", 0.119828))


def test_order_of_the_input_does_not_matter_and_it_stays_as_it_is() -> None:
    passages = [Passage("x", "ab"), Passage("y", "dcba"), Passage("z", "qq")]
    reranker = MaxSimReranker(Letters())
    backwards = list(reversed(passages))
    assert reranker.rerank("abcd", backwards) == reranker.rerank("abcd", passages)
    assert passages == list(reversed(backwards))


def test_a_long_passage_is_read_where_the_query_is() -> None:
    encoder = Letters()
    ranked = MaxSimReranker(encoder, window=12).rerank(
        "xy", [Passage("late", "a" * 500 + "xy"), Passage("no", "b" * 9)]
    )
    assert ranked[0] == ("late", 1.0)
    assert max(encoder.read) == 10, "the window less two special tokens"


def test_a_long_query_is_cut() -> None:
    encoder = Letters()
    MaxSimReranker(encoder, query_tokens=8).rerank("abcdefghijklmn", [Passage("a", "a")])
    assert encoder.read[0] == 6


def test_empty_text_has_no_score_and_an_empty_query_scores_nothing() -> None:
    reranker = MaxSimReranker(Letters(), rarity=False)
    assert reranker.rerank("ab", [Passage("x", ""), Passage("y", "a")]) == (("y", 0.5),)
    assert reranker.rerank("", [Passage("y", "a")]) == ()
    assert reranker.rerank("ab", []) == ()
