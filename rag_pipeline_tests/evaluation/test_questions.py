import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.questions import questions_for
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline_tests.evaluation.builders import write_set
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document

LONG = "The turbine of the northern station is lubricated with {oil} before every start of the season."


@pytest.fixture
def served(tmp_path, monkeypatch):
    return Served(tmp_path / "home", monkeypatch)


def pages(*oils: str):
    return [document(f"{oil}.md", LONG.format(oil=oil)) for oil in oils]


def test_the_eval_set_of_the_settings(served, tmp_path):
    folder = write_set(tmp_path / "set", [{"id": "q", "text": "why"}], [{"query_id": "q", "document": "a", "grade": 1}])
    found = questions_for(served.paths, "0" * 20, CollectionSettings(eval_set=str(folder)))
    assert found.labelled and [q.text for q in found.eval_set.queries] == ["why"]
    with pytest.raises(InvalidEvalSet, match="elsewhere"):
        questions_for(served.paths, "0" * 20, CollectionSettings(eval_set="elsewhere"))


def test_without_one_the_release_in_service_asks_so_that_what_was_lost_is_missed(served):
    both = served.publish(pages("amber", "bronze"))
    fewer = served.publish(pages("amber"), name="2")
    served.paths.current.write_text(both.release_id + "\n")
    found = questions_for(served.paths, fewer.release_id, CollectionSettings())
    assert not found.labelled
    assert any("bronze" in q.text for q in found.eval_set.queries)


def test_before_the_first_publish_and_beside_a_broken_one_the_candidate_asks_itself(served):
    old = served.publish(pages("amber"))
    new = served.publish(pages("bronze"), name="2")
    served.paths.current.unlink()
    own = questions_for(served.paths, new.release_id, CollectionSettings()).eval_set
    assert own.queries and all("amber" not in q.text for q in own.queries)
    served.paths.current.write_text(old.release_id + "\n")
    (served.paths.build(old.build_key) / "vectors.npy").write_bytes(b"")
    assert questions_for(served.paths, new.release_id, CollectionSettings()).eval_set == own
