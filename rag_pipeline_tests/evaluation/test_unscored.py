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
