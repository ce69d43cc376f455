"""A second principal never sees the first one's text: every endpoint, every form, right after the first one asked."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rag_pipeline.llm.client import LlmClient
from rag_pipeline.llm.settings import LlmSettings
from rag_pipeline.retrieval import read_filters as read_filters_module
from rag_pipeline.serving import answer as answer_module
from rag_pipeline_tests.local_server import Answer, local_server
from rag_pipeline_tests.served import CONTEXTS, STRATEGIES, Served
from rag_pipeline_tests.serving.api import SECRET_WORD, bearer, serving, write_keys

QUERY = f"budget {SECRET_WORD} nine million"
READERS: dict[str, dict[str, str]] = {
    "another user": bearer("bob"),
    "nobody in particular": bearer("public"),
    "a chatbot itself": bearer("bot"),
    "a chatbot for another user": {**bearer("bot"), "X-Act-As": "maria", "X-Act-As-Groups": "people"},
    "a group as a user": {**bearer("bot"), "X-Act-As": "finance"},
    "the system by name": {**bearer("bot"), "X-Act-As": "system"},
    "an owner's key for another user": {**bearer("all"), "X-Act-As": "maria"},
}
Asks = Callable[[TestClient, dict[str, str]], Any]


def retrieval(**body: Any) -> Asks:
    return lambda client, headers: client.post("/api/rag/retrieve", json={"query": "budget", **body}, headers=headers)


def get(path: str, **parameters: str) -> Asks:
    return lambda client, headers: client.get(path, params=parameters, headers=headers)


def feedback(**body: Any) -> Asks:
    return lambda client, headers: client.post("/api/rag/feedback", json=body, headers=headers)


def answer(**body: Any) -> Asks:
    return lambda client, headers: client.post("/api/rag/answer", json={"query": QUERY, **body}, headers=headers)


ASKS: dict[str, Asks] = {
    **{f"strategy {name}": retrieval(query=QUERY, strategy=name, explain=True) for name in STRATEGIES},
    **{f"context {name}": retrieval(query=QUERY, context=name, explain=True) for name in CONTEXTS},
    "json": retrieval(query=QUERY, format="json", max_tokens=4000),
    "by source": retrieval(filters={"source": "secret.md"}),
    "by category": retrieval(filters={"category": "finance"}),
    "by title": retrieval(filters={"title": {"contains": "plan"}}),
    "by heading": retrieval(filters={"headers": {"contains": "Part 0"}}, max_chunks=50),
    "wrong filter": retrieval(filters={"acces": "group:finance"}),
    "wrong strategy": retrieval(strategy=f"x{SECRET_WORD[1:]}"),
    "wrong collection": retrieval(collection="tets"),
    "filters in words": retrieval(query="finance pages on the budget", read_filters="rules"),
    **{f"answer with {name}": answer(context=name) for name in CONTEXTS},
    **{f"answer by {name}": answer(strategy=name, explain=True) for name in STRATEGIES},
    "answer in one": answer(stream=False),
    "answer json": answer(format="json", max_tokens=4000),
    "answer by source": answer(query="budget", filters={"source": "secret.md"}),
    "answer by title": answer(query="budget", filters={"title": {"contains": "plan"}}, stream=False),
    "answer, wrong filter": answer(query="budget", filters={"acces": "group:finance"}),
    "answer, wrong strategy": answer(query="budget", strategy=f"x{SECRET_WORD[1:]}"),
    "answer, filters in words": answer(query="finance pages on the budget", read_filters="rules"),
    "document": get("/api/document", id="secret.md"),
    "document around": get("/api/document", id="secret.md", around="20"),
    "about": get("/api/about"),
    "releases": get("/api/releases"),
    "metrics": get("/metrics"),
    "api description": get("/openapi.json"),
    "ready": get("/ready"),
    "page": get("/"),
}


@pytest.fixture
def warm(served: Served, tmp_path: Path) -> Iterator[TestClient]:
    """Right after one who may has asked everything, so that whatever is cached is there to leak."""
    with serving(served, keys=write_keys(tmp_path / "keys.toml"), query_log=True) as client:
        for ask in ASKS.values():
            reply = ask(client, bearer("ruth"))
            if reply.headers["content-type"] == "application/json" and (number := reply.json().get("query_id")):
                said = {"query_id": number, "rating": "not_useful", "comment": f"where is {SECRET_WORD}?"}
                assert client.post("/api/rag/feedback", json=said, headers=bearer("ruth")).status_code == 200
        yield client


def test_one_who_may_does_see_it(warm: TestClient) -> None:
    for name in (
        "strategy hybrid",
        "json",
        "by source",
        "by category",
        "document",
        "answer by hybrid",
        "answer in one",
    ):
        assert SECRET_WORD in ASKS[name](warm, bearer("ruth")).text, name


@pytest.mark.parametrize("reader", READERS)
def test_nobody_else_does(warm: TestClient, reader: str, caplog: pytest.LogCaptureFixture) -> None:
    for name, ask in ASKS.items():
        reply = ask(warm, READERS[reader])
        assert reply.status_code < 500, name
        # A query comes back as it was sent; nothing else may hold the word.
        text = reply.text.replace(QUERY, "").lower()
        assert SECRET_WORD not in text and "million" not in text, name
        assert "secret.md" not in text, name
    assert SECRET_WORD not in caplog.text


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language model that says everything it was shown, and whose client keeps every reply."""

    def repeat(body: Any) -> Answer:
        shown = body["messages"][-1]["content"]
        if not body.get("stream"):
            return Answer({"choices": [{"message": {"content": shown}, "finish_reason": "stop"}]})
        chunk = {"choices": [{"delta": {"content": shown}, "finish_reason": "stop"}]}
        return Answer(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    with local_server() as server:
        server.script(repeat)
        client = LlmClient(LlmSettings(f"{server.url}/v1", "parrot"))
        monkeypatch.setattr(answer_module, "query_llm", lambda **_: client)
        monkeypatch.setattr(read_filters_module, "query_llm", lambda **_: client)
        yield
        client.close()


@pytest.mark.parametrize("streamed", [True, False])
def test_a_model_is_shown_no_more_than_its_reader(
    parrot: None, warm: TestClient, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    for query in ("budget", "finance pages on the budget"):
        ask = answer(query=query, answerer="llm", read_filters="llm", stream=streamed)
        assert SECRET_WORD in ask(warm, bearer("ruth")).text
        for reader, headers in READERS.items():
            reply = ask(warm, headers)
            assert reply.status_code == 200 and "The budget is decided in spring." in reply.text, reader
            text = reply.text.lower()
            assert not any(word in text for word in (SECRET_WORD, "million", "secret.md")), reader
    assert SECRET_WORD not in caplog.text


@pytest.mark.parametrize("reader", READERS)
def test_the_query_log_tells_nobody_else(
    warm: TestClient, served: Served, reader: str, caplog: pytest.LogCaptureFixture
) -> None:
    (segment,) = served.home.query_log.glob("*.jsonl")
    records = [json.loads(line) for line in segment.read_text("utf-8").splitlines()]
    own = [record for record in records if record["kind"] == "query"]
    assert len(own) > 10 and SECRET_WORD in own[0]["query"]
    unknown = f"20260912-{'0' * 32}"
    expected = feedback(query_id=unknown, rating="useful")(warm, READERS[reader])
    assert expected.status_code == 404
    for record in own:
        section = record["results"][0]["section_id"] if record["results"] else "none"
        for body in ({"rank": 1}, {"section": section}, {"rank": 1000}, {"comment": "x"}, {}):
            reply = feedback(query_id=record["query_id"], rating="useful", **body)(warm, READERS[reader])
            assert (reply.status_code, reply.json()) == (expected.status_code, expected.json())
    assert SECRET_WORD not in warm.get("/metrics", headers=READERS[reader]).text
    assert SECRET_WORD not in caplog.text and "secret.md" not in caplog.text


def test_the_query_log_holds_no_document_and_no_name(warm: TestClient, served: Served) -> None:
    (segment,) = served.home.query_log.glob("*.jsonl")
    assert any(r["doc_id"] == "secret.md" for r in json.loads(segment.read_text("utf-8").splitlines()[0])["results"])
    for line in segment.read_text("utf-8").splitlines():
        record = json.loads(line)
        for said in ("query", "comment", "filters"):  # what the one who asked wrote
            record.pop(said, None)
        rest = json.dumps(record).lower()
        assert not any(word in rest for word in (SECRET_WORD, "million", "ruth", "group:")), rest


def test_what_is_hidden_changes_nothing_that_others_see(warm: TestClient) -> None:
    """A candidate count or a score that moves with a hidden document tells that it is there."""
    ask = retrieval(query=QUERY, strategy="bm25", explain=True)
    bob, public = (ask(warm, bearer(key)).json() for key in ("bob", "public"))
    for reply in (bob, public):
        reply.pop("query_id")
        reply["metrics"].pop("stages_ms")
        reply["metrics"].pop("retrieval_time_ms")
    assert bob == public
    assert bob["metrics"]["candidates"]["sections"] == 1
