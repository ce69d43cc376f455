import json

import pytest

from rag_pipeline.errors import NoRelease
from rag_pipeline.evaluation import latency
from rag_pipeline.evaluation.history import read_nights, read_rankings
from rag_pipeline.evaluation.history_check import against_history
from rag_pipeline.evaluation.history_machine import machine
from rag_pipeline.evaluation.history_measure import measure_night
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline_tests.evaluation.builders import write_set
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document, pumps

OWN = CollectionSettings()


@pytest.fixture
def served(tmp_path, monkeypatch):
    monkeypatch.setattr(latency.query_vector, "forget", lambda: None)  # the fake model can't be opened again
    return Served(tmp_path / "home", monkeypatch)


def measured(served, day: int, own: CollectionSettings = OWN):
    return measure_night(served.paths, own, models=served.home.models, at=f"2026-01-{day:02}T04:00:00.000000Z")


def judged(served):
    folder = served.paths.regression
    return against_history(read_nights(folder), rankings=lambda n: read_rankings(folder, n), settings=OWN.gate)


def test_a_night_is_measured_afresh_and_equals_the_night_before(served):
    release = served.publish(pumps())
    first = measured(served, 1)
    assert (first.release_id, first.strategy, first.failed) == (release.release_id, "hybrid", 0)
    assert first.questions == first.scored > 0
    assert first.latency_n > 0 and first.latency_p95_ms > 0
    assert not list(served.paths.release(release.release_id).glob("evaluations/*"))  # nothing stored was read or made
    measured(served, 2)
    assert judged(served).check.passed


def test_the_questions_are_the_collections_present_ones(served, tmp_path):
    served.publish(pumps())
    questions = write_set(
        tmp_path / "set",
        [{"id": "a", "text": "create_agent"}],
        [{"query_id": "a", "document": "agents.md", "quote": "Call create_agent to make an agent.", "grade": 3}],
    )
    found = measured(served, 1, CollectionSettings(eval_set=str(questions)))
    assert (found.eval_set, found.questions, found.metrics["ndcg_at_10"]) == ("set", 1, 1.0)


def test_a_release_that_answers_otherwise_at_night_is_seen(served, monkeypatch):
    """The same release on the same questions: here the model that embeds queries is another one under the old name."""
    served.publish([*pumps(), *(document(f"more{i}.md", f"Page {i} names oil and a valve.") for i in range(20))])
    measured(served, 1)
    from rag_pipeline_tests.fakes import WordEmbedder

    other = WordEmbedder()
    monkeypatch.setattr(other, "slot", lambda word: len(word) % 64)
    served.use(other, fingerprint=served.embedder.fingerprint)
    from rag_pipeline.retrieval import query_vector

    query_vector._vectors.clear()
    measured(served, 2)
    found = judged(served)
    assert not found.check.passed and found.is_error


def test_before_the_first_publish_there_is_nothing_to_measure(served):
    with pytest.raises(NoRelease):
        measured(served, 1)


def test_the_machine_is_described_in_plain_words():
    found = machine()
    assert {"host", "processor", "cores", "python", "duckdb", "numpy", "onnxruntime"} <= set(found)
    assert all(isinstance(value, str) and value for value in json.loads(json.dumps(found)).values())
