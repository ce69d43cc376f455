from rag_pipeline.evaluation.judges.base import (
    Judgement,
    SentenceVerdict,
    is_constant,
    judge_all,
    judged_answers,
    judgement_of,
)
from rag_pipeline_tests.evaluation.judges.judges import ScriptedJudge


def verdict(supported):
    return SentenceVerdict("x", 0, 1, supported, None, "")


def test_the_score_is_the_share_of_judged_sentences_that_are_supported():
    assert judgement_of([verdict(True), verdict(False), verdict(True), verdict(None)]).score == 2 / 3
    assert judgement_of([verdict(None)]) == Judgement(None, (verdict(None),), "no_sentences")


def test_a_failed_row_is_counted_and_never_averaged():
    judgements = [Judgement(1.0)] * 8 + [Judgement(0.0), Judgement(None, failure="timeout")]
    found = judged_answers(ScriptedJudge({}), judgements)
    assert (found.mean, found.judged, found.answers, found.coverage, found.valid) == (8 / 9, 9, 10, 0.9, True)
    assert found.failures == {"timeout": 1}


def test_where_three_in_ten_calls_fail_the_metric_is_invalid_and_has_no_mean():
    """Judges that time out must not shrink the sample silently: what failed is seldom like what did not."""
    judgements = [Judgement(1.0)] * 7 + [Judgement(None, failure="timeout")] * 3
    found = judged_answers(ScriptedJudge({}), judgements)
    assert (found.valid, found.mean, found.coverage, found.failures) == (False, None, 0.7, {"timeout": 3})
    assert judged_answers(ScriptedJudge({}), []).valid is False


def test_a_judge_that_gives_everything_the_same_score_is_flagged():
    assert is_constant([0.5] * 10)
    assert not is_constant([0.5] * 9)
    assert not is_constant([0.5] * 9 + [0.6])


def test_answers_judged_at_a_time_keep_their_order():
    judge = ScriptedJudge({f"a{n}": n / 100 for n in range(100)}, parallel=8)
    found = judge_all(judge, [(f"a{n}", (), "") for n in range(100)])
    assert [j.score for j in found] == [n / 100 for n in range(100)]
