import pytest

from rag_pipeline.evaluation.answer_metrics import abstention_of, has_fact, key_fact_recall, reference_similarity
from rag_pipeline_tests.fakes import WordEmbedder

ANSWER = "A paused agent is retired after sixty days [1]; `create_agent` then fails with E-4012."


@pytest.mark.parametrize(
    ("fact", "there"),
    [
        ("retired after 60 days", True),
        ("retires paused agents", True),
        ("retired after 61 days", False),
        ("E-4012", True),
        ("E-4021", False),
        ("create_agent fails", True),
        ("paused agent is deleted after days", True),  # 3 of 4 words
        ("paused agent deleted", False),  # 2 of 3 words
        ("bananas", False),
    ],
)
def test_a_fact_needs_its_numbers_and_names_and_most_of_its_words(fact, there):
    assert has_fact(fact, ANSWER) is there


def test_recall_is_the_share_of_facts():
    assert key_fact_recall(["60 days", "E-4012", "bananas"], ANSWER) == pytest.approx(2 / 3)
    assert key_fact_recall(["60 days"], "") == 0.0
    assert key_fact_recall([], ANSWER) is None


def test_numbers_of_citation_marks_are_no_facts():
    assert not has_fact("7 days", "It takes some days [7].")


def test_similarity_is_the_cosine_to_the_reference_from_0_to_1():
    embedder = WordEmbedder(dimension=512)
    assert reference_similarity("keys rotate [1]", "rotate keys", embedder) == pytest.approx(1.0, abs=1e-6)
    assert reference_similarity("keys rotate", "keys shine", embedder) == pytest.approx(0.5, abs=0.01)
    assert reference_similarity(" ", "keys", embedder) == 0.0


def test_abstention_is_scored_apart():
    # (answerable, abstained)
    found = abstention_of([(True, False), (True, True), (False, True), (False, True), (False, False)])
    assert (found.abstained, found.unanswerable) == (3, 3)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)
    assert abstention_of([(True, False)]).precision is None
    assert abstention_of([(True, False)]).recall is None
