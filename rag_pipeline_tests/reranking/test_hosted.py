from typing import Any

import pytest

from rag_pipeline.errors import StageFailed, UnknownName
from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.guard import Guard
from rag_pipeline.reranking.hosted import SERVICES, HostedReranker
from rag_pipeline_tests.local_server import Answer, LocalServer, local_server

PASSAGES = (Passage("x", "first"), Passage("y", "second"), Passage("z", "third"))
SCORES = [
    {"index": 2, "relevance_score": 0.9},
    {"index": 0, "relevance_score": 0.5},
    {"index": 1, "relevance_score": 0},
]
REPLIES = {
    "cohere": {"id": "1", "results": SCORES, "meta": {"api_version": {"version": "2"}}},
    "voyage": {"object": "list", "data": SCORES, "model": "rerank-2.5", "usage": {"total_tokens": 9}},
    "jina": {"model": "jina-reranker-v2-base-multilingual", "usage": {"total_tokens": 9}, "results": SCORES},
}
EXTRA: dict[str, dict[str, Any]] = {
    "cohere": {},
    "voyage": {"return_documents": False, "truncation": True},
    "jina": {"return_documents": False},
}
QUICK = HttpPolicy(seconds=5, attempts=2, wait=0.01)


@pytest.fixture
def server():
    with local_server() as served:
        yield served


def hosted(server: LocalServer, service: str = "cohere", *, policy: HttpPolicy = QUICK) -> HostedReranker:
    key = {SERVICES[service].key: "k"}
    return HostedReranker(service, url=server.url + "/rerank", environ=key, policy=policy)


@pytest.mark.parametrize("service", list(SERVICES))
def test_wire_form(server: LocalServer, service: str) -> None:
    server.script(Answer(REPLIES[service]))
    reranker = hosted(server, service)
    passages = list(PASSAGES)
    assert reranker.rerank("q", passages) == (("z", 0.9), ("x", 0.5), ("y", 0.0))
    assert passages == list(PASSAGES)
    asked = server.asked[0]
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.body == {
        "model": SERVICES[service].model,
        "query": "q",
        "documents": ["first", "second", "third"],
        **EXTRA[service],
    }
    reranker.close()


def test_tried_again_after_429(server: LocalServer) -> None:
    server.script(Answer({}, status=429), Answer(REPLIES["cohere"]))
    reranker = hosted(server)
    assert reranker.rerank("q", PASSAGES, top_k=1) == (("z", 0.9),)
    reranker.close()


def rows(*pairs: tuple[Any, Any]) -> Answer:
    return Answer({"results": [{"index": index, "relevance_score": score} for index, score in pairs]})


@pytest.mark.parametrize("service", list(SERVICES))
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer({"message": "slow down"}, status=429), "http_429"),
        (Answer({}, status=500), "http_500"),
        (Answer({}, status=401), "http_401"),
        (Answer(b"<html>"), "malformed"),
        (Answer({}), "malformed"),
        (Answer([]), "malformed"),
        (Answer({"results": ["x"], "data": ["x"]}), "malformed"),
        (Answer(b"[" * 3_000_000), "too_large"),
    ],
)
def test_errors(server: LocalServer, service: str, answer: Answer, reason: str) -> None:
    server.script(answer)
    reranker = hosted(server, service)
    with pytest.raises(StageFailed) as raised:
        reranker.rerank("q", PASSAGES)
    assert raised.value.reason == reason
    guarded = Guard(reranker, seconds=10).rerank("q", PASSAGES, (("x", 1.0),), weight=1)
    assert guarded.markers == (f"rerank=skipped:{reason}",)
    reranker.close()


@pytest.mark.parametrize("pair", [(3, 0.1), (-1, 0.1), ("0", 0.1), (True, 0.1), (0, "0.5"), (0, None), (0, False)])
def test_a_score_of_no_passage_or_no_number_spoils_the_answer(server: LocalServer, pair: tuple[Any, Any]) -> None:
    server.script(rows((1, 0.5), pair))
    reranker = hosted(server)
    with pytest.raises(StageFailed, match="malformed"):
        reranker.rerank("q", PASSAGES)
    reranker.close()


def test_the_same_passage_twice_spoils_the_answer(server: LocalServer) -> None:
    server.script(rows((1, 0.5), (1, 0.6)))
    reranker = hosted(server)
    with pytest.raises(StageFailed, match="malformed"):
        reranker.rerank("q", PASSAGES)
    reranker.close()


def test_a_passage_left_out_has_no_score(server: LocalServer) -> None:
    server.script(rows((1, 0.5)))
    reranker = hosted(server)
    assert reranker.rerank("q", PASSAGES) == (("y", 0.5),)
    reranker.close()


def test_nan_is_not_passed_on(server: LocalServer) -> None:
    server.script(
        Answer(b'{"results": [{"index": 0, "relevance_score": NaN}, {"index": 1, "relevance_score": 1e999}]}')
    )
    reranker = hosted(server)
    assert reranker.rerank("q", PASSAGES) == ()
    reranker.close()


def test_a_slow_server(server: LocalServer) -> None:
    server.script(Answer({}, delay=10))
    reranker = hosted(server, policy=HttpPolicy(seconds=0.3))
    with pytest.raises(StageFailed, match="timeout"):
        reranker.rerank("q", PASSAGES)
    reranker.close()


def test_long_texts_are_cut_and_an_empty_list_is_not_sent(server: LocalServer) -> None:
    server.script(rows((0, 1)))
    reranker = hosted(server)
    assert reranker.rerank("q", []) == ()
    reranker.rerank("q" * 50_000, [Passage("x", "t" * 50_000)])
    assert [len(server.asked[0].body["query"]), len(server.asked[0].body["documents"][0])] == [20_000, 20_000]
    reranker.close()


def test_without_a_key() -> None:
    with pytest.raises(StageFailed, match="COHERE_API_KEY"):
        HostedReranker("cohere", environ={})
    with pytest.raises(UnknownName, match="did you mean 'jina'"):
        HostedReranker("jinna", environ={})
