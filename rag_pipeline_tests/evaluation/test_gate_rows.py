from rag_pipeline.evaluation.gate import judge_release
from rag_pipeline.evaluation.gate_rows import comparison_rows, tag_change_rows
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import experiment, scored


def test_a_row_for_every_comparison_and_every_tag():
    before = experiment("r1", {"hybrid": scored([0.5] * 10, tags=["a", "b"])})
    after = experiment("r2", {"hybrid": scored([0.5] * 9 + [0.25], tags=["a", "b"])})
    verdict = judge_release(after, baseline=before, champion=None, settings=GateSettings(resamples=99))
    (row,) = comparison_rows(verdict)
    assert (row["reference"], row["release"], row["n"], row["changed"]) == ("in service", "r1", 10, 1)
    assert (row["before"], row["after"], row["difference"], row["coverage"]) == (0.5, 0.475, -0.025, 1.0)
    assert [(r["tag"], r["difference"]) for r in tag_change_rows(verdict)] == [("a", -0.025), ("b", -0.025)]


def test_a_first_release_has_no_row():
    alone = experiment("r1", {"hybrid": scored([0.5])})
    verdict = judge_release(alone, baseline=None, champion=None, settings=GateSettings())
    assert comparison_rows(verdict) == [] and tag_change_rows(verdict) == []
