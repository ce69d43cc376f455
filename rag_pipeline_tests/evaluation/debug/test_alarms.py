from typing import Any

import pytest

from rag_pipeline.evaluation.debug.alarms import alarms_of
from rag_pipeline.evaluation.debug.overview import stages_of
from rag_pipeline.evaluation.debug.trace import trace
from rag_pipeline.evaluation.debug.values import Asked
from rag_pipeline.evaluation.debug.words import unknown_identifiers
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document, pumps


def alarms(served: Served, question: str, **asked: Any) -> dict[str, str]:
    found = trace(open_current(served.paths), Asked(question, **asked), models=served.home.models)
    return {alarm.name: alarm.message for alarm in alarms_of(found)}


def test_a_good_question_raises_none(served: Served) -> None:
    served.publish(pumps())
    assert alarms(served, "replace the filter monthly") == {}


def test_words_and_identifiers_that_no_chunk_has(served: Served) -> None:
    served.publish(pumps())
    found = alarms(served, "what does E-9999 mean for the pump?")
    assert "'e-9999'" in found["unknown_identifier"]
    assert "e-9999" in found["unknown_words"]
    assert set(alarms(served, "xylophone")) == {"no_lexical_match"}
    assert "unknown_identifier" not in alarms(served, "what does E-4021 mean? create_agent")


@pytest.mark.parametrize(
    ("question", "identifiers"),
    [
        ("call delete_agent() or CreateAgent", ("delete_agent", "createagent")),
        ("see /etc/hosts.", ("/etc/hosts",)),
        ("How does it work? It is well known.", ()),
    ],
)
def test_which_words_look_like_identifiers(served: Served, question: str, identifiers: tuple[str, ...]) -> None:
    served.publish([document("a.md", "nothing of the kind")])
    found = trace(open_current(served.paths), Asked(question), models=served.home.models)
    assert unknown_identifiers(found) == identifiers


def test_a_filter_that_leaves_nothing(served: Served) -> None:
    served.publish([document("a.md", "oil pump", category="oil"), document("b.md", "tea pump", category="tea")])
    found = alarms(served, "pump", filters={"category": "gas", "format": "markdown"})
    assert (
        list(found) == ["filter_empty"]
        and "category" in found["filter_empty"]
        and "format" not in found["filter_empty"]
    )
    found = alarms(served, "pump", filters={"category": "oil", "source": "b.md"})
    assert "all of them together" in found["filter_empty"]


def test_a_question_that_was_read_as_a_filter(served: Served) -> None:
    served.publish([document("a.md", "the pump"), document("b.md", "the pump, die Pumpe", language="de")])
    found = alarms(served, "german pages about the pump", overrides={"read_filters": "rules"})
    assert "'language': 'de'" in found["read_filters"]


def test_nothing_that_one_may_read(served: Served) -> None:
    served.publish([document("a.md", "oil pump", access=("group:g",))])
    assert list(alarms(served, "pump")) == ["nothing_readable"]


def test_an_empty_build(served: Served) -> None:
    served.publish([])
    assert list(alarms(served, "pump")) == ["empty_index"]


def test_answers_below_the_floor(served: Served) -> None:
    model = {"intercept": -10.0, "weights": {"cosine": 10.0}}
    served.content = {"calibration": {"models": {"bm25+vector": model}}}
    served.publish(pumps())
    found = alarms(served, "the oil pump", overrides={"min_relevance": 0.9})
    assert "below min_relevance 0.9" in found["below_min_relevance"]
    assert "perhaps the collection does not answer this" in alarms(served, "the oil pump")["low_relevance"]


def test_stages_that_were_skipped(served: Served) -> None:
    served.publish(pumps())
    found = alarms(served, "the oil pump", overrides={"min_relevance": 0.9})
    assert found["marker"] == "min_relevance=skipped:uncalibrated: a stage could not run"


def test_legs_that_disagree(served: Served) -> None:
    """Vectors of other texts than the words."""
    pages = [document(f"{n:02}.md", f"pump {n}", title="t") for n in range(12)]
    others = [document(f"x{n:02}.md", f"word{n}", title="t") for n in range(12)]
    near, far = ["pump"] * 12, ["far away"] * 12
    served.publish([*pages, *others], vectors=served.embedder.embed(far + near))
    assert "legs_disagree" in alarms(served, "pump", overrides={"candidates": 12})


def test_the_overview_names_the_first_of_every_stage(served: Served) -> None:
    served.publish(pumps())
    found = trace(open_current(served.paths), Asked("replace the filter"), models=served.home.models)
    stages = {stage.name: stage for stage in stages_of(found, first=2)}
    assert list(stages) == ["vector", "bm25", "fused", "evidence", "returned"]
    assert all(stage.first[0].document == "pump.md" and len(stage.first) == 2 for stage in stages.values())
    assert stages["bm25"].of == 4
    one_leg = trace(open_current(served.paths), Asked("filter", "bm25"), models=served.home.models)
    assert [stage.name for stage in stages_of(one_leg)] == ["bm25", "returned"]
