import json
import math

import pytest

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.evaluation.experiment import QueryRun, RankedSection
from rag_pipeline.evaluation.gate import judge_release
from rag_pipeline.evaluation.results import read_experiment, read_gate_verdict, write_experiment, write_gate_verdict
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import experiment, scored

RUN = (
    QueryRun(
        "q1",
        "why \ufffd?",
        ("a", "b"),
        "scored",
        (RankedSection("a#0", "a", 0, 10),),
        {"ndcg_at_10": 0.1 + 0.2, "recall_at_5": 1.0, "tiny": 5e-324},
        ("mrr_at_10",),
        0.001,
        {"vector": 1 / 3},
        ("relevance=uncalibrated",),
    ),
    QueryRun("q2", "who?", (), "failed", error="X: y"),
)


def test_an_experiment_comes_back_exactly(tmp_path):
    stored = experiment("r1", {"hybrid": RUN})
    file = write_experiment(tmp_path / "evaluations", stored)
    assert file.name == "retrieval.json"
    assert read_experiment(tmp_path / "evaluations") == stored


def test_a_verdict_comes_back_exactly(tmp_path):
    old, new = experiment("o", {"hybrid": scored([0.5] * 60)}), experiment("n", {"hybrid": scored([0.5] * 59 + [0.1])})
    settings = GateSettings(resamples=199, floors={"ndcg_at_10": 0.1}, seed=7)
    verdict = judge_release(new, baseline=old, champion=None, settings=settings)
    write_gate_verdict(tmp_path, verdict)
    assert read_gate_verdict(tmp_path) == verdict
    assert json.loads((tmp_path / "gate.json").read_text())["value"]["settings"]["seed"] == 7


def test_equal_experiments_are_stored_as_equal_bytes(tmp_path):
    one = write_experiment(tmp_path, experiment("r1", {"hybrid": RUN}), name="one")
    two = write_experiment(tmp_path, experiment("r1", {"hybrid": RUN}), name="two")
    assert one.read_bytes() == two.read_bytes()


def test_nan_is_not_stored(tmp_path):
    bad = experiment("r1", {"hybrid": (QueryRun("q", "", (), "scored", metrics={"m": math.nan}),)})
    with pytest.raises(ValueError, match="JSON"):
        write_experiment(tmp_path, bad)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"format": 2, "value": {}}', '{"format": 1, "value": {"eval_set": 3}}', '{"format": 1}'],
)
def test_what_is_not_a_stored_experiment_is_corrupt(tmp_path, content):
    (tmp_path / "retrieval.json").write_text(content)
    with pytest.raises(CorruptBuild, match="evaluate again"):
        read_experiment(tmp_path)


def test_a_missing_one_too(tmp_path):
    with pytest.raises(CorruptBuild, match="evaluate again"):
        read_experiment(tmp_path)


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden"])
def test_names_stay_in_the_folder(tmp_path, name):
    with pytest.raises(ValueError, match="must match"):
        write_experiment(tmp_path, experiment("r1", {}), name=name)
