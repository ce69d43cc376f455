import pytest

from rag_pipeline.errors import InvalidEvalSet, InvalidSettings
from rag_pipeline.evaluation.pinned import pinned_as_expected, pinned_queries
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.settings.bundled import bundled_eval_set
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.gate import PinnedQuery
from rag_pipeline.settings.load import load_settings
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps


@pytest.fixture
def asked(tmp_path, monkeypatch):
    served = Served(tmp_path / "home", monkeypatch)
    served.publish(pumps())
    opened = open_current(served.paths)
    return lambda **pinned: pinned_as_expected(opened, (PinnedQuery(**pinned),), models=served.home.models)


@pytest.mark.parametrize(
    ("pinned", "passed"),
    [
        ({"query": "create_agent", "expect": "CREATE_AGENT to make"}, True),
        ({"query": "create_agent", "document": "agents.md"}, True),
        ({"query": "create_agent", "document": "a*", "expect": "agent"}, True),
        ({"query": "create_agent", "document": "pump.md"}, False),
        ({"query": "create_agent", "document": "agents.md", "expect": "E-4021"}, False),
        ({"query": "create_agent", "document": "agents.md", "expect": "E-4021", "within": 3}, True),
        ({"query": "create_agent", "expect": "nowhere", "within": 10}, False),
    ],
)
def test_the_expected_section_is_among_the_first(asked, pinned, passed):
    assert asked(**pinned).passed is passed


def test_a_failure_says_what_was_found_instead(asked):
    result = asked(query="create_agent", document="pump.md")
    assert "'create_agent' does not have pump.md in the first result; found agents.md:" in result.message
    assert result.numbers == {"asked": 1, "unexpected": 1}


def test_nothing_pinned_passes(tmp_path, monkeypatch):
    served = Served(tmp_path / "home", monkeypatch)
    served.publish(pumps())
    result = pinned_as_expected(open_current(served.paths), (), models=served.home.models)
    assert (result.passed, result.message) == (True, "0 pinned queries answered as expected")


def test_settings_and_the_eval_sets_file_are_both_asked(tmp_path):
    (tmp_path / "pinned.toml").write_text('[[pinned]]\nquery = "a"\nexpect = "b"\n')
    own = CollectionSettings(eval_set=str(tmp_path), pinned=(PinnedQuery(query="c", document="d"),))
    assert [p.query for p in pinned_queries(own)] == ["c", "a"]
    for text, named in (('[[pinned]]\nquery = "a"\n', "expect"), ("[[pined]]", "pined"), ("[", "TOML")):
        (tmp_path / "pinned.toml").write_text(text)
        with pytest.raises(InvalidEvalSet, match=named):
            pinned_queries(own)


def test_the_bundled_collection_pins_the_five_product_queries():
    own = load_settings(environ={}).collection("agent_platform")
    assert own.eval_set == str(bundled_eval_set())
    assert {p.query for p in pinned_queries(own)} == {
        "How does AgentFactory work?",
        "AgentFactory",
        "Show me agent creation flow",
        "database schema",
        "workflow execution",
        "RAG retrieval",
    }


def test_a_pin_that_expects_nothing_is_refused_in_the_settings(tmp_path):
    file = tmp_path / "rag_pipeline.toml"
    file.write_text('[collections.docs]\npinned = [{ query = "a" }]\n')
    with pytest.raises(InvalidSettings, match="expect"):
        load_settings(file, environ={})
