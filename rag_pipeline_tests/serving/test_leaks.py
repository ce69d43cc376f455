"""A second principal never sees the first one's text: every endpoint, every form, right after the first one asked."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

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
    with serving(served, keys=write_keys(tmp_path / "keys.toml")) as client:
        for ask in ASKS.values():
            ask(client, bearer("ruth"))
        yield client


def test_one_who_may_does_see_it(warm: TestClient) -> None:
    for name in ("strategy hybrid", "json", "by source", "by category", "document"):
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


def test_what_is_hidden_changes_nothing_that_others_see(warm: TestClient) -> None:
    """A candidate count or a score that moves with a hidden document tells that it is there."""
    ask = retrieval(query=QUERY, strategy="bm25", explain=True)
    bob, public = (ask(warm, bearer(key)).json() for key in ("bob", "public"))
    for reply in (bob, public):
        reply["metrics"].pop("stages_ms")
        reply["metrics"].pop("retrieval_time_ms")
    assert bob == public
    assert bob["metrics"]["candidates"]["sections"] == 1
