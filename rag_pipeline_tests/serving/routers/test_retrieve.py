import math
from typing import Any

import pytest
from starlette.testclient import TestClient

from rag_pipeline.schema import RetrievalResult
from rag_pipeline.serving import ask as ask_module
from rag_pipeline.serving.reply import public_source
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import ask, documents, serving


def test_the_documented_reply(client: TestClient, served: Served) -> None:
    reply = ask(client, explain=True, max_chunks=2)
    assert reply.status_code == 200
    body = reply.json()
    assert body["success"] is True
    assert (body["query"], body["collection"], body["strategy"]) == ("pump oil", "test", "hybrid")
    assert body["release"] == served.paths.current.read_text().strip()
    first = body["result"]["chunks"][0]
    text = documents()[0].text
    assert first["document"] == first["source"] == "pump.md"
    assert text[first["offsets"]["start"] : first["offsets"]["end"]] == first["content"] == "The pump moves oil."
    assert first["headers"] == {"h1": "Pump", "h2": "Part 0"}
    assert first["relevance_score"] is None
    assert {"vector", "bm25", "fused"} <= first["scores"].keys()
    assert first["ranks"]["bm25"] == first["ranks"]["fused"] == 1
    assert body["result"]["formatted_context"].startswith("# Retrieved Knowledge\n")
    assert 0 < body["result"]["total_tokens"] <= 2000
    source = {"document": "pump.md", "source": "pump.md", "title": "Pump", "citations": [1, 2]}
    assert body["result"]["sources"] == [source]
    assert [c["document"] for c in body["result"]["citations"]] == ["pump.md", "pump.md"]
    metrics = body["metrics"]
    assert metrics["after_rerank"] == 2
    assert metrics["total_candidates"] == metrics["candidates"]["union"] > 0
    assert metrics["retrieval_time_ms"] >= metrics["stages_ms"]["rank"] >= 0
    assert reply.headers["x-request-id"]


def test_without_a_context_and_without_scores(client: TestClient) -> None:
    body = ask(client, return_formatted=False).json()
    assert body["result"]["formatted_context"] is None
    assert body["result"]["total_tokens"] is None
    assert body["result"]["citations"] == []
    assert body["result"]["sources"][0]["citations"] == []
    assert body["result"]["chunks"][0]["scores"] is body["result"]["chunks"][0]["ranks"] is None


def test_presets(client: TestClient) -> None:
    body = ask(client, context="agent").json()
    assert (body["context"], body["strategy"]) == ("agent", "hybrid")
    assert body["result"]["formatted_context"].startswith("# Retrieved Knowledge")
    own = ask(client, context="search", strategy="bm25", max_chunks=1, max_tokens=90, format="json").json()
    assert (own["context"], own["strategy"], len(own["result"]["chunks"])) == ("search", "bm25", 1)
    assert own["result"]["total_tokens"] <= 90 and own["result"]["formatted_context"].startswith("{")
    bare = ask(client, context="agent", return_formatted=False).json()
    assert bare["result"]["formatted_context"] is None and bare["result"]["total_tokens"] is None


def test_the_budget_is_kept(client: TestClient) -> None:
    body = ask(client, max_tokens=60).json()
    assert 0 < body["result"]["total_tokens"] <= 60


def test_json_context(client: TestClient) -> None:
    assert ask(client, format="json").json()["result"]["formatted_context"].startswith("{")


def test_strategy_filters_and_number(client: TestClient) -> None:
    body = ask(client, "the filter", strategy="bm25", filters={"category": "guide"}, max_chunks=1).json()
    assert [c["content"] for c in body["result"]["chunks"]] == ["Replace the filter monthly."]
    assert body["strategy"] == "bm25"


def test_nothing_found_says_why(client: TestClient) -> None:
    body = ask(client, filters={"language": "xx"}).json()
    assert body["result"]["chunks"] == []
    assert body["empty_reason"] == "filter_empty"


@pytest.mark.parametrize(
    ("body", "status", "kind", "part"),
    [
        ({"query": ""}, 400, "InvalidQuery", "nothing to search for"),
        ({"query": " \t\u200b"}, 400, "InvalidQuery", "nothing to search for"),
        ({"query": "x", "strategy": "hybird"}, 422, "UnknownName", "did you mean 'hybrid'?"),
        ({"query": "x", "context": "chatbut"}, 422, "UnknownName", "did you mean 'chatbot'?"),
        ({"query": "x", "filters": {"a' OR 1=1 --": "x"}}, 422, "UnknownName", "known: author, category"),
        ({"query": "x", "filters": {"updated": "soon"}}, 422, "InvalidSettings", "is not a date"),
        ({"query": "x", "filters": {"tags": [[["deep"]]]}}, 422, "InvalidRequest", "one object of operators"),
        ({"query": "x", "collection": "tset"}, 404, "UnknownCollection", "did you mean 'test'?"),
        ({"query": "x", "collection": "../test"}, 404, "UnknownCollection", "known: test"),
        ({"query": "x", "max_chunks": 51}, 422, "InvalidRequest", "at most 50"),
        ({"query": "x", "max_tokens": 900_000}, 422, "InvalidRequest", "at most 32000"),
        ({"query": "x", "max_chunks": 0}, 422, "InvalidRequest", "body.max_chunks"),
        ({"query": "x", "top": 3}, 422, "InvalidRequest", "body.top"),
        ({"query": 5}, 422, "InvalidRequest", "body.query"),
        ({}, 422, "InvalidRequest", "body.query"),
        ([], 422, "InvalidRequest", "body"),
    ],
    ids=str,
)
def test_mistakes_are_explained(client: TestClient, body: Any, status: int, kind: str, part: str) -> None:
    reply = client.post("/api/rag/retrieve", json=body)
    assert (reply.status_code, reply.json()["error"]["type"]) == (status, kind)
    assert part in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"query": "\\ud800", "collection": "\\ud800"}',
        b'{"query": "x", "filters": {"\\ud800": "\\udfff"}}',
        b'{"query": "x", "filters": {"created": NaN}}',
        b'{"query": "x", "max_chunks": Infinity}',
        b'{"query": "x", "max_chunks": ' + b"9" * 5000 + b"}",
        b'{"query": "x", "filters": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
        b"[" * 100_000,
    ],
    ids=range(10),
)
def test_hostile_bodies_are_the_senders_fault(client: TestClient, raw: bytes) -> None:
    reply = client.post("/api/rag/retrieve", content=raw, headers={"content-type": "application/json"})
    assert 400 <= reply.status_code < 500, reply.text
    assert reply.json().keys() == {"error"}


@pytest.mark.parametrize(
    "query",
    [
        "?!… --",
        'who is "Ada"? cats OR dogs - {0} & \'x',
        "'; DROP TABLE chunks; --",
        "((" * 1000,
        "x" * 10_000,
        "pump " * 50_000,
        "a\x00b",
        "東京",
        "<script>alert(1)</script>",
    ],
    ids=lambda q: q[:12],
)
def test_any_text_is_a_query(client: TestClient, query: str) -> None:
    reply = ask(client, query)
    assert reply.status_code == 200, reply.text


def test_a_lone_surrogate_becomes_a_replacement_character(client: TestClient) -> None:
    raw = b'{"query": "pump \\ud800 oil"}'
    reply = client.post("/api/rag/retrieve", content=raw, headers={"content-type": "application/json"})
    assert reply.json()["query"] == "pump \ufffd oil"


def test_no_number_that_is_none_is_sent(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model once gave NaN scores, and the reply could not be read by any strict JSON parser."""
    from dataclasses import replace

    real = ask_module.retrieve_from

    def broken(*args: Any, **options: Any) -> RetrievalResult:
        result = real(*args, **options)
        scores = {"vector": math.nan, "bm25": math.inf}
        hits = tuple(replace(hit, score=math.nan, scores=scores, relevance_score=math.inf) for hit in result.hits)
        return replace(result, hits=hits, timings_ms={"total": math.nan})

    monkeypatch.setattr(ask_module, "retrieve_from", broken)
    with serving(served) as client:
        reply = ask(client, explain=True)
    assert reply.status_code == 200
    assert "NaN" not in reply.text and "Infinity" not in reply.text
    first = reply.json()["result"]["chunks"][0]
    assert (first["score"], first["relevance_score"]) == (None, None)
    assert first["scores"] == {"vector": None, "bm25": None}


def test_the_form_of_a_source() -> None:
    assert public_source("/srv/docs/a.md", "a.md") == "a.md"
    assert public_source("file:///srv/a.md", "a.md") == "a.md"
    assert public_source("s3://bucket/a.md", "a.md") == "a.md"
    assert public_source("https://docs.example.org/a", "a.md") == "https://docs.example.org/a"


def test_before_the_first_publish(empty: Served) -> None:
    with serving(empty) as client:
        reply = ask(client)
    assert (reply.status_code, reply.json()["error"]["type"]) == (503, "NoRelease")
