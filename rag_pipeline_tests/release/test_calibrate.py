import json
from pathlib import Path

import pytest

from rag_pipeline.evaluation.eval_set import UNANSWERABLE, EvalSet, Judgement, Query
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.calibrate import FEATURES, LEAST, calibrate, calibrate_candidate
from rag_pipeline.retrieval.reader import OpenRelease, open_current
from rag_pipeline.schema import Principal
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document

TOPICS = 60


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "home" / "models"


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenRelease:
    served = Served(tmp_path / "home", monkeypatch, embedder=WordEmbedder(512))
    served.publish([document(f"{n}.md", f"topic{n} is kept in drawer{n}") for n in range(TOPICS)])
    return open_current(served.paths)


def questions(count: int, *more: Query) -> EvalSet:
    asked = tuple(Query(f"q{n}", f"where is topic{n}", principal=Principal.system()) for n in range(count))
    labels = tuple(Judgement(f"q{n}", f"{n}.md", quote=f"topic{n} is kept in drawer{n}") for n in range(count))
    return EvalSet("topics", (*asked, *more), labels)


def test_plain_numbers_that_tell_right_from_wrong(opened: OpenRelease, models: Path) -> None:
    nobody = tuple(Query(f"n{n}", f"unknown{n} thing", (UNANSWERABLE,)) for n in range(10))
    found = calibrate(opened, questions(TOPICS, *nobody), models=models)
    assert found is not None
    assert found == json.loads(json.dumps(found, allow_nan=False))
    fitted, errors = found["models"], found["held_out_ece"]
    assert isinstance(fitted, dict) and isinstance(errors, dict)
    assert fitted.keys() == errors.keys() == FEATURES.keys()
    assert {legs: tuple(model["weights"]) for legs, model in fitted.items()} == dict(FEATURES)
    assert fitted["vector"]["weights"]["cosine"] > 0 and fitted["bm25"]["weights"]["bm25"] > 0
    assert all(0 <= error < 0.05 for error in errors.values())  # one section in twenty answers, and it is told apart
    assert calibrate(opened, questions(TOPICS, *nobody), models=models) == found


def test_too_few_labels_are_no_calibration(opened: OpenRelease, models: Path) -> None:
    assert calibrate(opened, questions(LEAST // 2), models=models) is None


def test_no_eval_set_is_no_calibration(opened: OpenRelease, tmp_path: Path, models: Path) -> None:
    assert calibrate_candidate(CollectionPaths(tmp_path), opened.release, None, models=models) is None
