import math

from rag_pipeline.evaluation.experiment import RankedSection
from rag_pipeline.evaluation.metrics.registry import NAMES
from rag_pipeline.evaluation.resolve import Relevance
from rag_pipeline.evaluation.scoring import finite, score

RELEVANCE = Relevance("q", {"a#1": 3, "b#1": 1}, {"a": 3, "b": 1}, (("a", 0, 10), ("b", 0, 10)))


def ranked(*names):
    return [RankedSection(name, name[0], 10 * (int(name[2:]) - 1), 10 * int(name[2:])) for name in names]


def test_all_metrics_have_their_names():
    assert tuple(score(ranked("a#1"), RELEVANCE).metrics) == NAMES


def test_documents_rank_by_their_best_section():
    found = score(ranked("c#1", "c#2", "a#2", "a#1", "b#1"), RELEVANCE).metrics
    assert found["document_mrr_at_10"] == 1 / 2  # c, a, b
    assert found["mrr_at_10"] == 1 / 4
    assert found["document_map_at_10"] == (1 / 2 + 2 / 3) / 2


def test_repeated_sections_count_once_before_the_cut():
    found = score(ranked(*["c#1"] * 6, "a#1"), RELEVANCE).metrics
    assert found["recall_at_5"] == 1 / 2
    assert found["overlap_recall_at_5"] == 1 / 2
    assert found["overlap_precision_at_5"] == 1 / 2


def test_values_that_are_not_finite_are_missing():
    found = finite({"a": 0.5, "b": math.nan, "c": math.inf})
    assert (found.metrics, found.missing) == ({"a": 0.5}, ("b", "c"))
