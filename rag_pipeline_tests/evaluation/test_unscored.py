from dataclasses import replace

import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.unscored import unscored
from rag_pipeline_tests.evaluation.builders import experiment, scored


def test_what_is_left_out_is_told_once_an_experiment() -> None:
    all_there = experiment("r1", {"hybrid": scored([0.5, 1.0])})
    partly = experiment("r2", {"hybrid": scored([0.5, None, None]), "bm25": scored([0.5, 0.5, None])})
    (told,) = unscored([all_there, partly])
    assert told.startswith("small, release r2: 2 of 3 answerable questions are left out")
    assert unscored([experiment("r3", {})]) == ()


def test_nothing_scored_is_an_error() -> None:
    with pytest.raises(InvalidEvalSet, match="none of 2 answerable questions could be scored"):
        unscored([experiment("r1", {"hybrid": scored([None, None])})])


def test_why_they_are_left_out() -> None:
    (told,) = unscored([experiment("r1", {"hybrid": scored([0.5, None])})])
    assert told.endswith("their labels no longer resolve; `rag-pipeline evalset check --release r1` names them")
    (told,) = unscored([experiment("r1", {"hybrid": scored([0.5, None], tags=["known_item", "heading"])})])
    assert told.endswith(
        "1 of 2 answerable questions are left out: the texts that they are about were changed or are gone"
    )
    one, two, three = scored([0.5, None, None])
    run = (one, replace(two, state="failed", error="no memory"), three)
    (told,) = unscored([experiment("r1", {"hybrid": run})])
    assert "names them; 1 failed, the first (q001) with: no memory" in told
    (told,) = unscored([experiment("r1", {"hybrid": run[:2]})])
    assert told.endswith("1 of 2 answerable questions are left out: 1 failed, the first (q001) with: no memory")


def test_a_strategy_that_could_not_run_leaves_out_nothing() -> None:
    failed = tuple(replace(q, state="failed", error="no model") for q in scored([None, None]))
    some = replace(experiment("r1", {"bm25": scored([1.0, 0.5]), "hyde": failed}), could_not_run={"hyde": "no model"})
    assert unscored([some]) == ()
    with pytest.raises(InvalidEvalSet, match="no strategy could run: hyde: no model"):
        unscored([replace(some, runs={"hyde": failed})])


def test_an_empty_half_is_an_error() -> None:
    with pytest.raises(InvalidEvalSet, match="the both half has no question; evaluate on both halves"):
        unscored([experiment("r1", {"hybrid": ()})])
