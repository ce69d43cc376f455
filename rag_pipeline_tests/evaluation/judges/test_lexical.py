import pytest

from rag_pipeline.evaluation.judges.lexical import LexicalJudge
from rag_pipeline.evaluation.judges.support import MISSING, best_support, shared_words, windows
from rag_pipeline.evaluation.judges.terms import terms

PASSAGES = (
    "# Keys\n\nTenant keys rotate every 90 days. Priya Ramanathan signs the report. Retired keys are not kept.",
    "The vault opens for 45 minutes in read-only mode.",
)


def score(sentence, passages=PASSAGES):
    judgement = LexicalJudge().judge(sentence, passages)
    (verdict,) = judgement.sentences
    return verdict.score


def test_a_sentence_that_stands_there_is_supported_whatever_its_white_space_and_marks():
    judgement = LexicalJudge().judge(
        "Tenant keys\nrotate  every 90 days. [1] The vault opens for 45 minutes [2]", PASSAGES
    )
    assert judgement.score == 1.0
    assert [(s.score, s.supported, s.why) for s in judgement.sentences] == [(1.0, True, ""), (1.0, True, "")]


def test_the_score_is_the_share_of_content_words_in_the_best_window():
    # tenant, key, rotat, automat: three of four are there
    assert score("Tenant keys rotate automatically.") == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    "sentence",
    [
        "Tenant keys rotate every 180 days.",
        "Pavel Novotny signs the report.",
        "The vault opens for 45 minutes in E-8001 mode.",
    ],
)
def test_a_number_name_or_identifier_that_is_not_there_is_unsupported(sentence):
    judgement = LexicalJudge().judge(sentence, PASSAGES)
    assert judgement.score == 0.0
    assert judgement.sentences[0].score <= MISSING
    assert judgement.sentences[0].why.startswith("not there: ")


def test_a_negation_a_condition_and_an_always_that_are_not_there_cost():
    assert score("Retired keys are kept.") == pytest.approx(0.5)
    assert score("The vault opens for 45 minutes unless it may.") == pytest.approx(3 / 4 * 0.5)
    assert score("The vault always opens.") == pytest.approx(2 / 3 * 0.6)


def test_words_in_another_order_cost_where_most_are_the_same():
    assert score("The report signs Priya Ramanathan.") < 1.0 == score("Priya Ramanathan signs the report.")


def test_one_unsupported_sentence_of_two_is_half():
    judgement = LexicalJudge().judge("Tenant keys rotate every 90 days. Bananas are blue.", PASSAGES)
    assert judgement.score == 0.5
    assert [s.supported for s in judgement.sentences] == [True, False]


def test_without_passages_nothing_is_supported_and_without_sentences_nothing_is_judged():
    assert LexicalJudge().judge("Bananas are blue.", ()).score == 0.0
    assert LexicalJudge().judge(" \n", PASSAGES).failure == "no_sentences"


def test_the_best_window_may_span_sentences_but_not_passages():
    found = windows(("Keys rotate. It is automatic.", "They cost money."))
    claim = terms("Keys rotate automatically and cost money")
    assert best_support(claim, found, [shared_words(claim, w.terms) for w in found]).score < 1
    assert ("Keys rotate.", "It is automatic.") in [w.sentences for w in found]
    assert not any({"automatic", "money"} <= w.terms.words for w in found)
