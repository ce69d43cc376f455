import numpy as np
import pytest

from rag_pipeline.evaluation.comparison import assess, compare, exceeds_margin
from rag_pipeline.evaluation.experiment import QueryRun, RankedSection
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import scored

SETTINGS = GateSettings(resamples=999)


def finding(before, after):
    return assess(np.array(before, float), np.array(after, float), settings=SETTINGS).finding


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([0.5] * 200, [0.5] * 200, "not worse"),
        ([0.5] * 200, [0.5] * 190 + [1.0] * 10, "better"),
        ([0.5] * 200, [0.5] * 190 + [0.4] * 10, "worse"),  # small, but not by chance: 1 in 1,024
        ([1.0] * 200, [1.0] * 195 + [0.0] * 5, "worse"),  # 0.025 is more than the margin
        ([0.5] * 60, [0.5] * 57 + [0.0, 0.0, 1.0], "insufficient evidence"),
        ([0.5] * 3, [0.5] * 3, "insufficient evidence"),
        ([1.0] * 3, [0.0] * 3, "insufficient evidence"),
        ([], [], "insufficient evidence"),
    ],
)
def test_findings(before, after, expected):
    assert finding(before, after) == expected


def test_numbers_of_an_effect():
    effect = assess(np.array([1.0, 0.5, 0.0, 1.0]), np.array([0.5, 0.5, 0.5, 0.0]), settings=SETTINGS)
    assert (effect.n, effect.changed, effect.baseline, effect.candidate) == (4, 3, 0.625, 0.375)
    assert effect.difference == -0.25
    assert effect.low < -0.25 < effect.high
    assert effect.p_worse == 3 / 8  # of -1 -.5 .5: sums up to -1 are -2, -1 and -1
    assert effect.p_better == 7 / 8
    assert effect.needed > 1000


def test_three_questions_never_decide():
    """Three questions that came out equal have no spread, which must not pass for certainty."""
    effect = assess(np.ones(3), np.ones(3), settings=SETTINGS)
    assert effect.finding == "insufficient evidence"
    assert effect.low < -0.5
    assert effect.detectable > 0.8


@pytest.mark.parametrize(
    ("difference", "n", "expected"),
    [(-0.021, 300, True), (-0.02, 300, False), (-0.3, 49, False), (-0.03, 50, True), (0.1, 300, False)],
)
def test_the_margin_is_not_asked_where_one_question_could_break_it(difference, n, expected):
    assert exceeds_margin(difference, n, settings=SETTINGS) is expected


def test_the_same_pair_gives_the_same_effect():
    rng = np.random.default_rng(1)
    before, after = rng.random(80), rng.random(80)
    assert assess(before, after, settings=SETTINGS) == assess(before, after, settings=SETTINGS)


def test_only_questions_scored_in_both_are_compared_and_the_others_are_listed():
    before = scored([1.0, None, 0.5, 0.5])
    after = (*scored([0.5, 1.0, None, 0.5]), QueryRun("u", "", ("unanswerable",), "unanswerable"))
    found = compare(before, after, settings=SETTINGS)
    assert (found.compared, found.answerable, found.coverage) == (2, 4, 0.5)
    assert found.left_out == ("q001", "q002")
    assert found.overall.difference == -0.25


def test_a_question_without_the_metric_is_left_out():
    broken = QueryRun("q000", "", (), "scored", missing=("ndcg_at_10",))
    assert compare([broken], scored([1.0]), settings=SETTINGS).left_out == ("q000",)


def test_questions_that_got_worse_show_both_rankings_greatest_loss_first():
    def one(query_id, value, *names):
        ranking = tuple(RankedSection(n, n[0], 0, 1) for n in names)
        return QueryRun(query_id, f"text {query_id}", (), "scored", ranking, {"ndcg_at_10": value})

    before = [one("1", 1.0, "a", "b"), one("2", 1.0, "a"), one("3", 0.0, "c")]
    after = [one("1", 0.6, "b", "a"), one("2", 0.0, "x"), one("3", 0.5, "c")]
    worse = compare(before, after, settings=SETTINGS).worse
    assert [(w.query_id, w.baseline_score, w.candidate_score) for w in worse] == [("2", 1.0, 0.0), ("1", 1.0, 0.6)]
    assert (worse[1].text, worse[1].baseline_sections, worse[1].candidate_sections) == (
        "text 1",
        ("a", "b"),
        ("b", "a"),
    )


def test_tags_are_tested_together():
    untouched = [QueryRun(f"r{i}", "", ("y",), "scored", metrics={"ndcg_at_10": 1.0}) for i in range(6)]
    before, after = scored([1.0] * 6, tags=["x"]), scored([0.5] * 6, tags=["x"])
    found = compare([*before, *untouched], [*after, *untouched], settings=SETTINGS)
    assert set(found.by_tag) == {"x", "y"}
    assert found.by_tag["x"].p_worse == 1 / 64
    assert found.p_worse_by_tag == {"x": 2 / 64, "y": 1.0}
