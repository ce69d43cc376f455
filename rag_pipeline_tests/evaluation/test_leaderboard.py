from dataclasses import replace

import pytest

from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.leaderboard import board, leaderboard, strategy_rows, tag_rows
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import experiment, scored

SETTINGS = GateSettings(resamples=999)


def test_a_row_tells_what_its_means_stand_on():
    run = (
        *scored([1.0, 0.5, None]),
        QueryRun("x", "?", (), "failed"),
        QueryRun("u", "?", ("unanswerable",), "unanswerable"),
    )
    (row,) = strategy_rows(experiment("r", {"hybrid": run}), settings=SETTINGS)
    assert row["ndcg@10"] == 0.75 and row["recall@5"] is None and row["recall@5 95 %"] == ""
    assert (row["n"], row["coverage"], row["failed"]) == (2, 0.5, 1)
    assert row["empty when unanswerable"] == 1.0
    low, high = map(float, str(row["ndcg@10 95 %"]).split(" to "))
    assert 0.5 <= low <= 0.75 <= high <= 1.0


def test_tags_are_rows_of_their_own_questions():
    run = (*scored([1.0], tags=["a"]), *(q for q in scored([0.0, 0.5], tags=["b"])[1:]))
    rows = tag_rows(run, settings=SETTINGS)
    assert [(r["tag"], r["n"], r["ndcg@10"]) for r in rows] == [("a", 1, 1.0), ("b", 1, 0.5)]


def test_strategies_stand_best_first_with_what_changed_against_the_reference():
    runs = {
        "hybrid": scored([0.5] * 60),
        "worse": scored([0.3] * 60),
        "better": scored([0.7] * 60),
    }
    rows = leaderboard(experiment("r", runs), reference="hybrid", settings=SETTINGS)
    assert [(r["strategy"], r["verdict"]) for r in rows] == [
        ("better", "better"),
        ("hybrid", "reference"),
        ("worse", "worse"),
    ]
    assert rows[0]["change"] == pytest.approx(0.2)
    assert rows[1]["change interval"] == "" and str(rows[2]["change interval"]).startswith("-0.2")


def test_another_metric_of_the_settings_is_shown_too():
    settings = SETTINGS.model_copy(update={"metric": "document_ndcg_at_10"})
    (row,) = strategy_rows(experiment("r", {"hybrid": scored([1.0])}), settings=settings)
    assert row["document_ndcg_at_10"] is None


def test_releases_are_paired_on_the_questions_that_resolve_in_both():
    """A chunker that loses labelled text must not be compared on other questions than its rival."""
    old = experiment("a" * 20, {"hybrid": scored([0.5] * 60)})
    new = experiment("b" * 20, {"hybrid": scored([None] * 30 + [0.7] * 30)})
    rows = board([old, new], reference="hybrid", settings=SETTINGS)
    assert [(r["release"], r["verdict"], r["compared"], r["n"]) for r in rows] == [
        ("b" * 20, "better", 30, 30),
        ("a" * 20, "reference", 60, 60),
    ]
    assert rows[0]["change"] == pytest.approx(0.2) and rows[0]["coverage"] == 0.5


def test_each_eval_set_has_its_own_reference():
    one = experiment("r", {"hybrid": scored([0.5] * 60), "bm25": scored([0.3] * 60)})
    two = experiment("r", {"hybrid": scored([0.1] * 60), "bm25": scored([0.9] * 60)}, eval_set_hash="f" * 64)
    rows = board([one, replace(two, eval_set="hard")], reference="hybrid", settings=SETTINGS)
    assert [(r["eval set"], r["strategy"], r["verdict"]) for r in rows] == [
        ("small", "hybrid", "reference"),
        ("small", "bm25", "worse"),
        ("hard", "bm25", "better"),
        ("hard", "hybrid", "reference"),
    ]


def test_a_strategy_that_could_not_run_says_why_and_stands_last():
    failed = tuple(QueryRun(f"q{i:03}", "?", (), "failed", error="not asked: no model") for i in range(3))
    found = replace(
        experiment("r", {"hyde": failed, "hybrid": scored([0.5] * 3)}), could_not_run={"hyde": "no model; set a URL"}
    )
    rows = leaderboard(found, reference="hybrid", settings=SETTINGS)
    assert [(r["strategy"], r["verdict"]) for r in rows] == [
        ("hybrid", "reference"),
        ("hyde", "could not run: no model; set a URL"),
    ]
    assert rows[1]["change"] is None and rows[1]["failed"] == 3


def test_overlap_with_the_labelled_text_is_a_column():
    run = (QueryRun("q", "?", (), "scored", metrics={"ndcg_at_10": 1.0, "overlap_iou_at_5": 0.25}),)
    (row,) = strategy_rows(experiment("r", {"hybrid": run}), settings=SETTINGS)
    assert row["iou@5"] == 0.25
