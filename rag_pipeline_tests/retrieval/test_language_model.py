"""Where replies of a language model are kept: transforms under the data directory, answers in memory alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_pipeline.answering.llm import LlmAnswerer
from rag_pipeline.retrieval import language_model
from rag_pipeline.retrieval.language_model import query_llm
from rag_pipeline.retrieval.reader import collections
from rag_pipeline_tests.local_server import Answer, LocalServer, local_server
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    with local_server() as served:
        monkeypatch.setenv("RAG_PIPELINE_LLM_URL", f"{served.url}/v1")
        monkeypatch.setenv("RAG_PIPELINE_LLM_MODEL", "m")
        language_model.forget()
        said = {"choices": [{"message": {"content": "oil pump valve"}, "finish_reason": "stop"}]}
        served.script(Answer(said))
        yield served
        language_model.forget()


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    made = Served(tmp_path / "home", monkeypatch)
    made.publish(pumps())
    return made


def test_a_transform_is_asked_for_once_also_by_the_next_process(served: Served, server: LocalServer) -> None:
    first = served.ask("what moves oil", transform="rewrite")
    assert "transform" not in first.cached and len(server.asked) == 1
    assert served.ask("what moves oil", transform="rewrite").cached["transform"] == 1
    language_model.forget()
    again = served.ask("what moves oil", transform="rewrite")
    assert again.cached["transform"] == 1 and [h.doc_id for h in again.hits] == [h.doc_id for h in first.hits]
    assert len(server.asked) == 1
    served.ask("what moves oil and gas", transform="rewrite")
    assert len(server.asked) == 2


def test_what_is_kept_is_for_its_owner_alone_and_no_collection(served: Served, server: LocalServer) -> None:
    served.ask("what moves oil", transform="rewrite")
    folder = served.home.transform_replies
    (kept,) = folder.iterdir()
    assert (kept.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "what moves oil" not in kept.read_text("utf-8")
    assert collections(served.home) == ("test",)


def test_answers_are_never_written(served: Served, server: LocalServer) -> None:
    """They hold text of documents that not everybody may read."""
    llm = query_llm(seconds=5)
    assert llm is not None
    result = served.ask("what moves oil", context="agent")
    for _ in range(2):
        assert LlmAnswerer(llm).answer("what moves oil", result).text == "oil pump valve"
    assert len(server.asked) == 1
    assert not [p for p in served.home.root.rglob("*") if p.is_file() and b"oil pump valve" in p.read_bytes()]


def test_a_data_directory_that_can_not_be_written_costs_a_call(
    served: Served, server: LocalServer, tmp_path: Path
) -> None:
    served.home.transform_replies.write_text("a file where the folder would be")
    assert served.ask("what moves oil", transform="rewrite").hits
    language_model.forget()
    assert served.ask("what moves oil", transform="rewrite").hits
    assert len(server.asked) == 2


def test_none_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_PIPELINE_LLM_URL", raising=False)
    assert query_llm(seconds=1) is None
