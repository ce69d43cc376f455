from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.errors import StageFailed
from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.llm.client import LlmClient, open_llm
from rag_pipeline.llm.json_reply import Number
from rag_pipeline.llm.settings import LlmSettings
from rag_pipeline.llm.wire import Prompt
from rag_pipeline_tests.local_server import Answer, LocalServer, elapsed, local_server

SCORE = {"score": Number(0, 1)}
ASK = Prompt("How good?", "Be brief.", max_tokens=50)


def openai(text: Any, *, finish: str = "stop") -> Answer:
    return Answer({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}]})


def anthropic(*texts: str, stop: str = "end_turn") -> Answer:
    return Answer({"content": [{"type": "text", "text": text} for text in texts], "stop_reason": stop})


@pytest.fixture
def server():
    with local_server() as served:
        yield served


@pytest.fixture
def client(server: LocalServer):
    made = LlmClient(settings(server))
    yield made
    made.close()


def settings(server: LocalServer, **changed: Any) -> LlmSettings:
    http = HttpPolicy(seconds=5, attempts=2, wait=0.01)
    return replace(LlmSettings(url=server.url + "/v1", model="m", key="k", http=http), **changed)


def test_openai_wire(server: LocalServer, client: LlmClient) -> None:
    server.script(openai(" good \n"))
    reply = client.complete(ASK)
    assert (reply.text, reply.failure, reply.truncated, reply.cached) == ("good", None, False, False)
    asked = server.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How good?"}],
        "max_tokens": 50,
        "temperature": 0.0,
    }


def test_anthropic_wire(server: LocalServer) -> None:
    server.script(anthropic("so ", "so"))
    client = LlmClient(settings(server, wire="anthropic", url=server.url))
    assert client.complete(ASK).text == "so so"
    asked = server.asked[0]
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == ("k", "2023-06-01")
    assert "authorization" not in asked.headers
    assert asked.body["system"] == "Be brief."
    assert asked.body["messages"] == [{"role": "user", "content": "How good?"}]
    client.close()


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Answer({}, status=429), "http_429"),
        (Answer({}, status=500), "http_500"),
        (Answer({}, status=401), "http_401"),
        (Answer(b"oops"), "malformed"),
        (Answer({"choices": []}), "malformed"),
        (Answer({"choices": [{"message": {"content": ["x"]}}]}), "malformed"),
        (Answer([1]), "malformed"),
        (openai(""), "empty"),
        (openai(" \n"), "empty"),
        (openai(None), "empty"),
        (openai("x" * 3_000_000), "too_large"),
    ],
)
def test_a_failed_call_is_a_value(server: LocalServer, client: LlmClient, answer: Answer, failure: str) -> None:
    server.script(answer)
    reply = client.complete(ASK)
    assert (reply.text, reply.failure) == ("", failure)
    parsed = client.complete_json(ASK, SCORE)
    assert (parsed.value, parsed.failure) == (None, failure)


def test_a_slow_call_ends_in_time(server: LocalServer) -> None:
    client = LlmClient(settings(server, http=HttpPolicy(seconds=0.3)))
    server.script(Answer({}, delay=10))
    reply, seconds = elapsed(lambda: client.complete(ASK))
    assert reply.failure == "timeout"
    assert seconds < 3
    client.close()


def test_strict_raises_and_names_the_reason(server: LocalServer) -> None:
    client = LlmClient(settings(server), strict=True)
    server.script(Answer({}, status=500))
    with pytest.raises(StageFailed, match=r"http_500.*RAG_PIPELINE_LLM_URL") as raised:
        client.complete(ASK)
    assert raised.value.reason == "http_500"
    server.script(openai("no"))
    with pytest.raises(StageFailed, match="invalid_json"):
        client.complete_json(ASK, SCORE)
    client.close()


def test_a_100_kb_reply_is_cut_and_says_so(server: LocalServer, client: LlmClient) -> None:
    server.script(openai("word " * 20_000))
    reply = client.complete(ASK)
    assert len(reply.text) == client.settings.max_reply_chars
    assert reply.truncated


def test_a_reply_that_ran_out_of_tokens_says_so_and_is_not_kept(server: LocalServer, client: LlmClient) -> None:
    server.script(openai("half of", finish="length"), openai("whole"))
    assert client.complete(ASK).truncated
    assert client.complete(ASK).text == "whole"


def test_the_same_prompt_is_asked_once(server: LocalServer, client: LlmClient) -> None:
    server.script(openai("good"))
    client.complete(ASK)
    assert client.complete(ASK).cached
    assert not client.complete(replace(ASK, temperature=0.5)).cached
    assert (len(server.asked), client.cache.hits) == (2, 1)


def test_a_failure_is_not_kept(server: LocalServer, client: LlmClient) -> None:
    server.script(Answer({}, status=400), openai("good"))
    assert client.complete(ASK).failure == "http_400"
    assert client.complete(ASK).text == "good"


def test_replies_on_disk_hold_no_key(server: LocalServer, tmp_path: Path) -> None:
    server.script(openai("good"))
    client = LlmClient(settings(server, key="s3cret"), cache_folder=tmp_path)
    client.complete(ASK)
    again = LlmClient(settings(server, key="other"), cache_folder=tmp_path)
    assert again.complete(ASK).cached
    assert "s3cret" not in "".join(file.read_text() for file in tmp_path.iterdir())
    client.close()


def test_a_prompt_over_the_cap_is_not_sent(server: LocalServer, client: LlmClient) -> None:
    assert client.complete(Prompt("x" * 200_000)).failure == "prompt_too_long"
    assert server.asked == []


def test_json_is_asked_for_by_schema(server: LocalServer, client: LlmClient) -> None:
    server.script(openai('{"score": 0.8}'))
    reply = client.complete_json(ASK, SCORE)
    assert (reply.value, reply.repaired) == ({"score": 0.8}, False)
    assert server.asked[0].body["response_format"]["json_schema"]["schema"]["required"] == ["score"]
    assert client.complete_json(ASK, SCORE).cached


@pytest.mark.parametrize(("mode", "sent"), [("object", {"type": "json_object"}), ("none", None)])
def test_servers_without_schemas(server: LocalServer, mode: str, sent: Any) -> None:
    client = LlmClient(settings(server, json_mode=mode))
    server.script(openai('{"score": 0.8}'))
    assert client.complete_json(ASK, SCORE).value == {"score": 0.8}
    assert server.asked[0].body.get("response_format") == sent
    client.close()


def test_prose_around_the_object_costs_no_second_call(server: LocalServer, client: LlmClient) -> None:
    server.script(openai('Sure! {"score": 0.8}'))
    reply = client.complete_json(ASK, SCORE)
    assert (reply.value, reply.repaired, len(server.asked)) == ({"score": 0.8}, True, 1)


@pytest.mark.parametrize("bad", ['Sure! {"score": "0.8"}', '{"score": "0.8/1"}', '{"score": -1}', '{"score": 7}', "{}"])
def test_a_wrong_object_is_asked_for_once_more(server: LocalServer, client: LlmClient, bad: str) -> None:
    server.script(openai(bad), openai('{"score": 0.25}'))
    reply = client.complete_json(ASK, SCORE)
    assert (reply.value, reply.repaired, len(server.asked)) == ({"score": 0.25}, True, 2)
    again = server.asked[1].body["messages"][-1]["content"]
    assert "could not be used" in again and "How good?" in again


@pytest.mark.parametrize("bad", ['Sure! {"score": "0.8"}', "I can't say", '{"score": 7}'])
def test_two_wrong_ones_are_a_failure_and_never_a_default(server: LocalServer, client: LlmClient, bad: str) -> None:
    server.script(openai(bad))
    reply = client.complete_json(ASK, SCORE)
    assert (reply.value, reply.failure, len(server.asked)) == (None, "invalid_json", 2)
    assert reply.problem
    server.script(openai('{"score": 1}'))
    assert client.complete_json(ASK, SCORE).value == {"score": 1}, "a failure must not have been cached"


def test_a_failed_second_call_is_a_failure(server: LocalServer, client: LlmClient) -> None:
    server.script(openai("no"), Answer({}, status=400))
    assert client.complete_json(ASK, SCORE).failure == "http_400"


def test_no_model_configured() -> None:
    assert open_llm({}) is None
