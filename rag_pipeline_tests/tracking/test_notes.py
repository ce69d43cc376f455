from dataclasses import replace

from rag_pipeline.tracking.notes import LONGEST, board_of, evaluation_note, strategy_note
from rag_pipeline_tests.tracking.conftest import Evaluated


def test_a_row_a_strategy_against_the_default_one(evaluated: Evaluated):
    record = evaluated.record()
    rows = board_of(record)
    assert {row["strategy"]: row["verdict"] == "reference" for row in rows} == {"hybrid": True, "bm25": False}
    lines = evaluation_note(record, rows).splitlines()
    assert lines[0] == f"Release `{record.release.release_id}` on pumps (both)."
    assert lines[2].startswith("| strategy | ndcg@10 |") and lines[3] == "|---" * 11 + "|"
    assert {line.split(" | ")[0] for line in lines[4:]} == {"| hybrid", "| bm25"}
    assert all(line.count("|") == 12 for line in lines[2:])


def test_without_the_default_strategy_the_first_is_what_others_are_measured_against(evaluated: Evaluated):
    record = evaluated.record()
    alone = replace(record, experiment=replace(record.experiment, runs={"bm25": record.experiment.runs["bm25"]}))
    (row,) = board_of(alone)
    assert row["verdict"] == "reference"
    assert board_of(replace(record, experiment=replace(record.experiment, runs={}))) == []


def test_no_question_stands_in_a_note(evaluated: Evaluated):
    record = evaluated.record()
    rows = board_of(record)
    text = evaluation_note(record, rows) + "".join(strategy_note(record, row) for row in rows)
    assert "create_agent" not in text and "pump oil valve" not in text


def test_what_was_not_scored_is_a_dash_and_a_pipe_breaks_no_table(evaluated: Evaluated):
    record = evaluated.record()
    unscored = tuple(replace(q, state="failed", metrics={}) for q in record.experiment.runs["bm25"])
    runs = {"hybrid": record.experiment.runs["hybrid"], "bm25": unscored}
    broken = replace(
        record, experiment=replace(record.experiment, runs=runs, could_not_run={"bm25": "no | model; set one up"})
    )
    rows = board_of(broken)
    (line,) = [line for line in evaluation_note(broken, rows).splitlines() if line.startswith("| bm25")]
    assert "| - |" in line and "could not run: no \\| model" in line
    (row,) = [row for row in rows if row["strategy"] == "bm25"]
    assert "nDCG@10 - (no interval) on 0 questions; could not run" in strategy_note(broken, row)


def test_a_note_fits_a_tag(evaluated: Evaluated):
    record = evaluated.record()
    assert len(evaluation_note(record, board_of(record) * 100)) == LONGEST
