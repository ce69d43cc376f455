import pytest

from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.leaderboard import leaderboard, strategy_rows, tag_rows
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
