"""Hand-worked values, shared properties, and an independent implementation for every ranking metric."""

import math
from functools import partial
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pipeline.evaluation.metrics.average_precision import average_precision
from rag_pipeline.evaluation.metrics.hit import hit
from rag_pipeline.evaluation.metrics.mrr import reciprocal_rank
from rag_pipeline.evaluation.metrics.ndcg import ndcg
from rag_pipeline.evaluation.metrics.precision import precision
from rag_pipeline.evaluation.metrics.ranking import top
from rag_pipeline.evaluation.metrics.recall import recall
from rag_pipeline.evaluation.metrics.registry import RANKING

AT_4 = {
    "ndcg": partial(ndcg, k=4),
    "recall": partial(recall, k=4),
    "precision": partial(precision, k=4),
    "hit": partial(hit, k=4),
    "mrr": partial(reciprocal_rank, k=4),
    "map": partial(average_precision, k=4),
}
GRADES = {"a": 3, "b": 2, "c": 1}


@pytest.mark.parametrize(
    ("metric", "ranking", "expected"),
    [
        ("recall", "xayb", 2 / 3),
        ("precision", "xayb", 2 / 4),
        ("hit", "xayb", 1),
        ("mrr", "xayb", 1 / 2),
        ("map", "xayb", (1 / 2 + 2 / 4) / 3),
        ("ndcg", "xayb", (3 / math.log2(3) + 2 / math.log2(5)) / (3 + 2 / math.log2(3) + 1 / 2)),
        # the cut: what stands fifth does not count
        ("recall", "wxyzabc", 0),
        ("hit", "wxyzabc", 0),
        ("mrr", "wxyzabc", 0),
        ("map", "wxyzabc", 0),
        ("ndcg", "wxyzabc", 0),
        # a perfect ranking
        ("recall", "abc", 1),
        ("precision", "abc", 3 / 4),
        ("map", "abc", 1),
        ("ndcg", "abc", 1),
        # the order of the grades matters to ndcg alone
        ("map", "cba", 1),
        ("ndcg", "cba", (1 + 2 / math.log2(3) + 3 / 2) / (3 + 2 / math.log2(3) + 1 / 2)),
        # repeats count once, at their best rank, and are removed before the cut
        ("precision", "aaaab", 2 / 4),
        ("recall", "xxxxxab", 2 / 3),
        ("ndcg", "aabbcc", 1),
        ("map", "aaaabbbbcccc", 1),
    ],
)
def test_hand_worked(metric, ranking, expected):
    assert AT_4[metric](tuple(ranking), GRADES) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", RANKING.values(), ids=RANKING)
class TestEveryMetric:
    def test_an_empty_ranking_scores_0(self, metric):
        assert metric((), GRADES) == 0.0

    def test_nothing_relevant_is_refused(self, metric):
        with pytest.raises(ValueError, match="score questions without an answer apart"):
            metric(("a",), {})
        with pytest.raises(ValueError, match="score questions without an answer apart"):
            metric(("a",), {"a": 0})

    def test_returning_nothing_relevant_scores_0(self, metric):
        assert metric(("x", "y"), GRADES) == 0.0


def test_the_ideal_comes_from_the_labels_not_from_what_was_retrieved():
    """With an ideal made of the retrieved set, one of two relevant sections at rank 1 would score 1."""
    assert ndcg(("a",), {"a": 1, "b": 1}, k=10) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_the_ideal_is_cut_too():
    assert ndcg(("a",), {"a": 1, "b": 1}, k=1) == 1.0


def test_without_a_cut():
    assert reciprocal_rank(tuple("wxyza"), GRADES) == 1 / 5
    assert average_precision(tuple("wxyza"), GRADES) == pytest.approx(1 / 15)


@pytest.mark.parametrize("k", [0, -1])
def test_a_cut_below_1_is_refused(k):
    with pytest.raises(ValueError, match="k must be at least 1"):
        top(("a",), k)


rankings = st.lists(st.sampled_from("abcdefgh"), max_size=12)
grades = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 3), min_size=1)


@given(ranking=rankings, labels=grades, name=st.sampled_from(sorted(RANKING)))
def test_between_0_and_1_and_deaf_to_repeats(ranking, labels, name):
    value = RANKING[name](ranking, labels)
    assert 0.0 <= value <= 1.0 + 1e-12
    assert value == RANKING[name]([*dict.fromkeys(ranking), *ranking], labels)


@given(ranking=rankings, labels=grades, name=st.sampled_from(sorted(RANKING)))
def test_moving_a_relevant_id_up_never_costs(ranking, labels, name):
    distinct = list(dict.fromkeys(ranking))
    for i in range(1, len(distinct)):
        if labels.get(distinct[i], 0) > labels.get(distinct[i - 1], 0):
            better = [*distinct[: i - 1], distinct[i], distinct[i - 1], *distinct[i + 1 :]]
            assert RANKING[name](better, labels) >= RANKING[name](distinct, labels) - 1e-12


TREC = {
    "ndcg_at_10": "ndcg_cut_10",
    "ndcg_at_5": "ndcg_cut_5",
    "recall_at_5": "recall_5",
    "recall_at_10": "recall_10",
    "precision_at_5": "P_5",
    "hit_at_1": "success_1",
    "hit_at_5": "success_5",
    "map_at_10": "map_cut_10",
}


@pytest.mark.skipif(not find_spec("pytrec_eval"), reason="pytrec-eval-terrier is not installed")
@settings(deadline=None)  # the first example imports it
@given(ranking=rankings, labels=grades)
def test_agrees_with_trec_eval(ranking, labels):
    """pytrec_eval wraps the C program that published figures come from; it ranks by score, so scores fall with rank."""
    import pytrec_eval

    distinct = tuple(dict.fromkeys(ranking))
    if not distinct:
        return
    run = {"q": {i: float(len(distinct) - rank) for rank, i in enumerate(distinct)}}
    theirs = pytrec_eval.RelevanceEvaluator({"q": labels}, set(TREC.values()) | {"recip_rank"}).evaluate(run)["q"]
    for ours, name in TREC.items():
        assert RANKING[ours](ranking, labels) == pytest.approx(theirs[name], abs=1e-9), name
    assert reciprocal_rank(ranking, labels) == pytest.approx(theirs["recip_rank"], abs=1e-9)


@given(ranking=rankings, labels=grades, k=st.integers(1, 10))
def test_agrees_with_the_definitions_written_out(ranking, labels, k):
    """The same formulas once more, over ranks instead of ids, so that a slip would have to be made twice."""
    gains = []
    for i in ranking:
        if i not in dict(gains):
            gains.append((i, labels.get(i, 0)))
    found = [gain for _, gain in gains][:k]
    best = sorted(labels.values(), reverse=True)[:k]
    hits = [1 if gain else 0 for gain in found]
    assert recall(ranking, labels, k=k) == pytest.approx(sum(hits) / len(labels))
    assert precision(ranking, labels, k=k) == pytest.approx(sum(hits) / k)
    assert hit(ranking, labels, k=k) == max(hits, default=0)
    assert reciprocal_rank(ranking, labels, k=k) == (1 / (hits.index(1) + 1) if 1 in hits else 0)
    at_hits = [sum(hits[: r + 1]) / (r + 1) for r in range(len(hits)) if hits[r]]
    assert average_precision(ranking, labels, k=k) == pytest.approx(sum(at_hits) / len(labels))
    dcg, ideal = (sum(g * math.log(2) / math.log(r + 2) for r, g in enumerate(gains)) for gains in (found, best))
    assert ndcg(ranking, labels, k=k) == pytest.approx(dcg / ideal)
