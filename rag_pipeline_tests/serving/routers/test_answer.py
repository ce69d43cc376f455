import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from rag_pipeline.answering.base import Answer
from rag_pipeline.errors import StageFailed
from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.llm.client import LlmClient
from rag_pipeline.llm.settings import LlmSettings
from rag_pipeline.serving import answer as answer_module
from rag_pipeline.serving.app import create_app
from rag_pipeline.serving.settings import ServingSettings
from rag_pipeline_tests.local_server import Answer as Scripted
from rag_pipeline_tests.local_server import LocalServer, local_server
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import bearer, serving, settings_of, write_keys
from rag_pipeline_tests.serving.events import read_events
from rag_pipeline_tests.serving.live import listening

PATH = "/api/rag/answer"
QUESTION = "how often is the filter replaced"


def stream(client: TestClient, query: str = QUESTION, *, key: str | None = None, **body: Any) -> list[tuple[str, Any]]:
    reply = client.post(PATH, json={"query": query, **body}, headers=bearer(key) if key else {})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    return read_events(reply.text)


def plain(client: TestClient, query: str = QUESTION, **body: Any) -> Any:
    return client.post(PATH, json={"query": query, "stream": False, **body})


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """A language model that is a local server; `script` says what it answers."""
    with local_server() as server:
        made = LlmClient(LlmSettings(f"{server.url}/v1", "m", http=HttpPolicy(seconds=3, attempts=1)))
        monkeypatch.setattr(answer_module, "query_llm", lambda **_: made)
        yield server
        made.close()


def said(*pieces: str, **options: Any) -> Scripted:
    import json

    chunks = [{"choices": [{"delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    raw = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return Scripted(raw.encode(), **options)


def test_the_documented_stream(client: TestClient, served: Served) -> None:
    (first, found), (second, piece), (last, answer) = stream(client)
    assert (first, second, last) == ("retrieval", "text", "answer")
    assert found["release"] == served.paths.current.read_text().strip()
    assert found["result"]["sources"][0]["document"] == "pump.md"
    assert found["result"]["formatted_context"].startswith("# Retrieved Knowledge")
    assert answer["text"] == piece["text"]
    assert answer["text"].startswith("Replace the filter monthly. [")
    number = answer["citations"][0]["number"]
    cited = {"number": number, "document": "pump.md", "section": "pump.md#s1", "title": "Pump", "source": "pump.md"}
    assert answer["citations"][0] == cited
    assert {"number": number, "document": "pump.md", "section": "pump.md#s1"} in found["result"]["citations"]
    assert (answer["answerer"], answer["abstained"], answer["reason"]) == ("extractive", False, None)


def test_one_reply(client: TestClient) -> None:
    body = plain(client, context="agent", return_formatted=False).json()
    assert body["success"] is True and body["answer_time_ms"] > 0
    assert body["retrieval"]["context"] == "agent"
    assert body["retrieval"]["result"]["formatted_context"] is None
    assert body["retrieval"]["result"]["citations"]
    (_, found), *_, (_, answer) = stream(client, context="agent", return_formatted=False)
    assert answer == body["answer"]
    assert found["result"] == body["retrieval"]["result"]


def test_an_abstention_is_an_answer(client: TestClient) -> None:
    (_, found), (last, answer) = stream(client, filters={"category": "nothing"})
    assert found["empty_reason"] == "filter_empty"
    assert (last, answer["abstained"], answer["reason"], answer["text"]) == ("answer", True, "filter_empty", "")
    assert plain(client, "what is E-6050").json()["answer"]["reason"] in ("unknown_identifier", "no_match")


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"query": " "}, 400, "InvalidQuery"),
        ({"query": "x", "answerer": "oracle"}, 422, "InvalidRequest"),
        ({"query": "x", "strategy": "none such"}, 422, "UnknownName"),
        ({"query": "x", "filters": {"colour": "red"}}, 422, "UnknownName"),
        ({"query": "x", "collection": "none_such"}, 404, "UnknownCollection"),
        ({"query": "x", "max_tokens": 900_000}, 422, "InvalidRequest"),
        ({"query": "x", "answerer": "llm"}, 409, "NoLanguageModel"),
    ],
)
def test_what_goes_wrong_before_the_stream_is_a_status(
    client: TestClient, body: dict[str, Any], status: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAG_PIPELINE_LLM_URL", raising=False)
    for streamed in (True, False):
        reply = client.post(PATH, json={**body, "stream": streamed})
        assert (reply.status_code, reply.json()["error"]["type"]) == (status, kind)


def test_an_environment_that_cannot_be_used_is_not_shown(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_PIPELINE_LLM_URL", "ftp://operator:hunter2@models.internal")
    reply = plain(client, answerer="llm")
    assert reply.status_code == 409 and "hunter2" not in reply.text and "internal" not in reply.text


def test_a_model_that_writes(client: TestClient, model: LocalServer) -> None:
    model.script(
        said(
            "The filter is replaced every month [1], ",
            "as it says in the manual of the pump and its valves ",
            "[1][8].",
        )
    )
    (first, _), *pieces, (last, answer) = stream(client, answerer="llm", context="agent")
    assert (first, last) == ("retrieval", "answer")
    assert {name for name, _ in pieces} == {"text"} and len(pieces) == 2
    assert (
        answer["text"]
        == "The filter is replaced every month [1], as it says in the manual of the pump and its valves [1]."
    )
    assert (answer["invalid_citations"], answer["markers"]) == ([8], ["answer=invalid_citations:1"])
    assert [c["number"] for c in answer["citations"]] == [1]
    assert model.url not in str(answer)


@pytest.mark.parametrize(
    ("scripted", "reason"),
    [
        (Scripted({}, status=500), "http_500"),
        (Scripted(b"data: {oops\n\n"), "malformed"),
        (said("I'm sorry, I can't help with that."), "refused"),
        (said(""), "empty"),
        (said("NOT IN CONTEXT"), "not_in_context"),
    ],
)
def test_a_model_that_fails_is_a_visible_abstention(
    client: TestClient, model: LocalServer, scripted: Scripted, reason: str
) -> None:
    model.script(scripted)
    *_, (name, answer) = stream(client, answerer="llm")
    assert (name, answer["abstained"], answer["reason"], answer["text"]) == ("answer", True, reason, "")
    assert f'outcome="{reason}"' in client.get("/metrics").text


class Scripting:
    """An answerer whose stream is a test's."""

    name = "extractive"

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def stream(self, question: str, result: Any) -> Any:
        return self._stream()


def use(monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    monkeypatch.setattr(answer_module, "open_answerer", lambda name, **_: Scripting(made))


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (StageFailed("answer", "timeout", "see /srv/secret/place/model.toml"), 503, "StageFailed"),
        (RuntimeError("the secret is out"), 500, "InternalError"),
    ],
)
def test_what_goes_wrong_in_the_stream_is_an_event(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, kind: str
) -> None:
    def broken() -> Iterator[str]:
        yield "half of "
        raise error

    use(monkeypatch, broken)
    (_, _), (_, piece), (name, body) = stream(client)
    assert piece == {"text": "half of "}
    assert (name, body["error"]["type"]) == ("error", kind)
    assert "secret" not in str(body)
    reply = plain(client)
    assert (reply.status_code, reply.json()["error"]["type"]) == (status, kind)


def test_nothing_follows_the_answer(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_behind() -> Iterator[Answer]:
        yield Answer("", (), (), "extractive", None, abstained=True, reason="below_floor", markers=())
        raise RuntimeError("too late to tell")

    use(monkeypatch, fails_behind)
    assert [name for name, _ in stream(client)] == ["retrieval", "answer"]
    assert plain(client).json()["answer"]["reason"] == "below_floor"


def test_one_reply_does_not_wait_for_what_comes_behind_the_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()

    def lingers_behind() -> Iterator[Answer]:
        yield Answer("", (), (), "extractive", None, abstained=True, reason="below_floor", markers=())
        stop.wait(60)

    use(monkeypatch, lingers_behind)
    with serving(served, answer_seconds=1.0) as client:
        try:
            assert plain(client).status_code == 200  # waiting for the end would be the timeout's 504
        finally:
            stop.set()


def test_an_answer_rests_on_one_release(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the retrieval another release may be in service: the answerer must not look for it."""
    real = answer_module.ask

    def published_behind(*args: Any, **options: Any) -> Any:
        result = real(*args, **options)
        monkeypatch.setattr(answer_module, "open_current", lambda _: pytest.fail("opened again"))
        return result

    monkeypatch.setattr(answer_module, "ask", published_behind)
    assert plain(client).json()["answer"]["text"].startswith("Replace the filter monthly. [")


def test_a_late_answer_ends_with_an_error(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()

    def slow() -> Iterator[str | Answer]:
        yield "a beginning"
        stop.wait(20)
        yield "never heard"

    use(monkeypatch, slow)
    with serving(served, answer_seconds=1.0) as client:
        started = time.monotonic()
        *_, (name, body) = stream(client)
        assert (name, body["error"]["type"]) == ("error", "Timeout")
        late = plain(client)
        assert (late.status_code, late.json()["error"]["type"]) == (504, "Timeout")
        assert time.monotonic() - started < 10
        stop.set()


def test_a_client_that_goes_away_stops_the_work(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = threading.Event()

    def endless() -> Iterator[str]:
        try:
            while True:
                yield "word " * 100
                time.sleep(0.01)
        finally:
            closed.set()

    use(monkeypatch, endless)
    with listening(create_app(settings_of(served), serving=ServingSettings())) as address:
        with httpx.stream("POST", f"{address}{PATH}", json={"query": "pump"}, timeout=20) as reply:
            for line in reply.iter_lines():
                if line == "event: text":
                    break
            assert not closed.is_set()
        assert closed.wait(10)


def test_pieces_arrive_as_they_are_made(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def waiting() -> Iterator[str]:
        yield "first"
        go.wait(20)
        yield "second"

    use(monkeypatch, waiting)
    with (
        listening(create_app(settings_of(served), serving=ServingSettings())) as address,
        httpx.stream("POST", f"{address}{PATH}", json={"query": "pump"}, timeout=20) as reply,
    ):
        lines = reply.iter_lines()
        assert any('"first"' in line for line in lines)
        go.set()
        assert any('"second"' in line for line in lines)


def test_a_writing_model_does_not_hold_up_questions(served: Served, model: LocalServer) -> None:
    model.script(said("Every month [1].", delay=2.5))
    with serving(served, threads=1, queue=0) as client:
        asked = threading.Thread(target=lambda: stream(client, answerer="llm"))
        asked.start()
        deadline = time.monotonic() + 10
        while not model.asked and time.monotonic() < deadline:
            time.sleep(0.02)
        assert client.post("/api/rag/retrieve", json={"query": "pump"}).status_code == 200
        assert asked.is_alive()
        asked.join()


def test_keys_and_scopes(keyed: TestClient, served: Served, tmp_path: Path) -> None:
    assert keyed.post(PATH, json={"query": "x"}).status_code == 401
    assert keyed.post(PATH, json={"query": "x"}, headers=bearer("boss")).status_code == 403
    *_, (_, own) = stream(keyed, "what is the budget for zanzibar", key="ruth")
    assert "nine million" in own["text"]
    *_, (_, other) = stream(keyed, "what is the budget for zanzibar", key="bob")
    assert "million" not in other["text"]
    with serving(served, keys=write_keys(tmp_path / "k.toml"), requests_per_minute=60, burst=1) as client:
        headers = bearer("bob")
        codes = [client.post(PATH, json={"query": "pump"}, headers=headers).status_code for _ in range(2)]
        assert codes == [200, 429]


def test_it_is_counted_and_recorded(served: Served) -> None:
    with serving(served, query_log=True) as client:
        (_, found), *_ = stream(client)
        assert found["query_id"]
        text = client.get("/metrics").text
    counted = 'rag_pipeline_answers_total{answerer="extractive",collection="test",outcome="answered"} 1.0'
    assert counted in text
    assert 'rag_pipeline_answer_seconds_count{answerer="extractive"} 1.0' in text


def test_a_filter_in_words(client: TestClient) -> None:
    (_, found), *_ = stream(client, "guide pages about the filter", read_filters="rules")
    assert found["read_filters"] == {"category": "guide"}
