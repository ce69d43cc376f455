from dataclasses import replace

import pytest

from rag_pipeline.errors import InvalidEvalSet, UnknownName
from rag_pipeline.evaluation.arms import arms_of, reference_of
from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline_tests.evaluation.builders import experiment, scored

ONE = experiment("a" * 20, {"hybrid": scored([1.0]), "bm25": scored([0.5])})
TWO = experiment("b" * 20, {"hybrid": scored([0.9])})
OTHER = replace(experiment("a" * 20, {"hybrid": scored([0.1])}, eval_set_hash="f" * 64), eval_set="other")


def test_labels_say_no_more_than_tells_arms_apart():
    assert [a.label for a in arms_of([ONE])] == ["hybrid", "bm25"]
    assert [a.label for a in arms_of([ONE, TWO])] == ["hybrid @ aaaaaaaa", "bm25 @ aaaaaaaa", "hybrid @ bbbbbbbb"]
    assert [a.label for a in arms_of([ONE, OTHER])] == ["hybrid on small", "bm25 on small", "hybrid on other"]
    same_name = replace(OTHER, eval_set="small")
    assert arms_of([ONE, same_name])[2].label == "hybrid on small ffffffff"


def test_the_reference_is_of_the_first_release_on_the_same_questions():
    arms = arms_of([ONE, TWO, OTHER])
    assert [reference_of(a, arms, strategy="hybrid").label for a in arms] == [
        "hybrid @ aaaaaaaa on small",
        "hybrid @ aaaaaaaa on small",
        "hybrid @ aaaaaaaa on small",
        "hybrid @ aaaaaaaa on other",
    ]
    with pytest.raises(UnknownName, match="did you mean 'bm25'"):
        reference_of(arms[0], arms, strategy="bm52")


def test_experiments_of_different_code_are_not_compared():
    with pytest.raises(InvalidEvalSet, match="different code"):
        arms_of([ONE, replace(TWO, code="other")])


def test_an_arm_that_answered_nothing_says_why():
    failures = tuple(QueryRun(f"q{i}", "?", (), "failed", error=e) for i, e in enumerate(("A: x", "B: y", "B: y")))
    assert arms_of([experiment("r", {"s": failures})])[0].could_not_run == "B: y"
    assert arms_of([experiment("r", {"s": (*failures, *scored([1.0]))})])[0].could_not_run is None
    told = replace(experiment("r", {"s": failures}), could_not_run={"s": "no model"})
    assert arms_of([told])[0].could_not_run == "no model"
