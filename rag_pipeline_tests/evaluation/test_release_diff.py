import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.release_diff import diff_releases
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import experiment, scored

SETTINGS = GateSettings(resamples=99)


def test_losses_and_gains_keep_the_direction_of_the_two_releases():
    before = experiment("r1", {"hybrid": scored([1.0, 0.2, 0.5])})
    after = experiment("r2", {"hybrid_rerank": scored([0.4, 0.9, 0.5])})
    found = diff_releases(before, after, settings=SETTINGS)
    assert [(q.query_id, q.before, q.after) for q in found.lost] == [("q000", 1.0, 0.4)]
    assert [(q.query_id, q.before, q.after) for q in found.won] == [("q001", 0.2, 0.9)]
    assert (found.before, found.after, found.comparison.overall.n) == ("r1", "r2", 3)


def test_other_questions_are_not_compared():
    before = experiment("r1", {"hybrid": scored([1.0])})
    after = experiment("r2", {"hybrid": scored([1.0])}, eval_set_hash="f" * 64)
    with pytest.raises(InvalidEvalSet, match="different questions"):
        diff_releases(before, after, settings=SETTINGS)
