import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.errors import StageFailed
from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.llm.client import LlmClient
from rag_pipeline.llm.reply import Reply
from rag_pipeline.llm.settings import LlmSettings
from rag_pipeline.llm.stream import MAX_EVENT_BYTES, Heard, _Events, read_event
from rag_pipeline.llm.wire import Prompt
from rag_pipeline_tests.local_server import Answer, LocalServer, elapsed, local_server

ASK = Prompt("How good?", "Be brief.", max_tokens=50)
DONE = "data: [DONE]\n\n"


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with local_server() as served:
        yield served


def settings(server: LocalServer, *, http: HttpPolicy | None = None, **changed: Any) -> LlmSettings:
    http = http or HttpPolicy(seconds=5, attempts=2, wait=0.01)
    return replace(LlmSettings(url=server.url + "/v1", model="m", key="k", http=http), **changed)


def chunk(text: str | None, *, finish: str | None = None) -> str:
    delta = {} if text is None else {"content": text}
    return f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': finish}]})}\n\n"


def events(*raw: str, **options: Any) -> Answer:
    return Answer("".join(raw).encode(), headers={"content-type": "text/event-stream"}, **options)


def hear(server: LocalServer, *answers: Answer, **changed: Any) -> tuple[list[str], Reply]:
    server.script(*answers)
    *pieces, last = LlmClient(settings(server, **changed)).stream(ASK)
    assert isinstance(last, Reply) and not any(isinstance(piece, Reply) for piece in pieces)
    assert "".join(map(str, pieces)) == last.text
    return [str(piece) for piece in pieces], last


def test_openai_events(server: LocalServer) -> None:
    role = 'data: {"choices": [{"delta": {"role": "assistant", "content": null}, "finish_reason": null}]}\n\n'
    usage = 'data: {"choices": [], "usage": {"total_tokens": 9}}\n\n'
    said = events(": hello\n\n", role, usage, chunk("Keys "), chunk("rotate."), chunk(None, finish="stop"), DONE)
    pieces, reply = hear(server, said)
    assert pieces == ["Keys ", "rotate."]
    assert (reply.failure, reply.truncated, reply.cached, reply.attempts) == (None, False, False, 1)
    asked = server.asked[0]
    assert (asked.path, asked.headers["authorization"]) == ("/v1/chat/completions", "Bearer k")
    assert asked.body["stream"] is True and asked.body["max_tokens"] == 50


def test_anthropic_events(server: LocalServer) -> None:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    said = events(
        event("message_start", message={"content": []}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("ping"),
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "so "}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "so"}),
        event("message_delta", delta={"stop_reason": "max_tokens"}),
        event("message_stop"),
    )
    pieces, reply = hear(server, said, wire="anthropic", url=server.url)
    assert (pieces, reply.failure, reply.truncated) == (["so ", "so"], None, True)
    assert (server.asked[0].path, server.asked[0].headers["x-api-key"]) == ("/v1/messages", "k")


@pytest.mark.parametrize(
    ("answer", "failure", "text"),
    [
        (Answer({}, status=401), "http_401", ""),
        (Answer({}, status=429), "http_429", ""),
        (events("oops"), "malformed", ""),
        (events("<html>busy</html>\n\n"), "malformed", ""),
        (events("data: {oops\n\n"), "malformed", ""),
        (events('data: {"choices": 3}\n\n'), "malformed", ""),
        (events(chunk("Keys"), 'data: {"error": {"message": "overloaded"}}\n\n'), "malformed", "Keys"),
        (events(chunk("Keys ")), "cut", "Keys "),
        (events(chunk("Keys "), 'data: {"choices": [{"del'), "cut", "Keys "),
        (events(chunk(None, finish="stop"), DONE), "empty", ""),
        (events(DONE), "empty", ""),
        (Answer(b""), "malformed", ""),
    ],
)
def test_a_failed_stream_says_why(server: LocalServer, answer: Answer, failure: str, text: str) -> None:
    _, reply = hear(server, answer)
    assert (reply.failure, reply.text) == (failure, text)


def test_a_connection_cut_in_the_middle_is_told(server: LocalServer) -> None:
    raw = chunk("Keys are ").encode()
    _, reply = hear(server, Answer(raw, headers={"content-length": str(len(raw) + 100), "connection": "close"}))
    assert (reply.failure, reply.text) == ("unreachable", "Keys are ")
    assert len(server.asked) == 1  # what was heard can't be taken back, so it isn't asked again


def test_what_gave_nothing_is_tried_again(server: LocalServer) -> None:
    _, reply = hear(server, Answer({}, status=503), events(chunk("ok", finish="stop"), DONE))
    assert (reply.text, reply.failure, reply.attempts) == ("ok", None, 2)


def test_a_reply_longer_than_allowed_is_cut(server: LocalServer) -> None:
    said = events(*[chunk("word ")] * 50, chunk(None, finish="stop"), DONE)
    _, reply = hear(server, said, max_reply_chars=12)
    assert (reply.text, reply.truncated, reply.failure) == ("word word wo", True, None)


@pytest.mark.parametrize("raw", [chunk("x") * 3000, "data: " + "x" * (MAX_EVENT_BYTES + 1), ": " + "x" * 300_000])
def test_a_stream_without_end_is_hung_up_on(server: LocalServer, raw: str) -> None:
    _, reply = hear(server, events(raw), http=HttpPolicy(seconds=5, attempts=1, max_bytes=150_000))
    assert reply.failure == "too_large"


def test_a_wait_for_the_next_piece_ends(server: LocalServer) -> None:
    policy = HttpPolicy(seconds=0.4, attempts=2)
    (_, reply), seconds = elapsed(lambda: hear(server, events(DONE, delay=5), http=policy))
    assert reply.failure == "timeout" and seconds < 2


def test_a_server_that_drips_does_not_hold_a_call(server: LocalServer) -> None:
    policy = HttpPolicy(seconds=0.5, attempts=1)
    said = events(chunk("Keys are rotated every ninety days."), drip=0.02)
    (_, reply), seconds = elapsed(lambda: hear(server, said, http=policy))
    assert reply.failure == "timeout" and seconds < 3


def test_only_a_complete_stream_is_cached(server: LocalServer) -> None:
    client = LlmClient(settings(server))
    server.script(events(chunk("Half")), events(chunk(" Keys. ", finish="length"), DONE))
    assert [*client.stream(ASK)][-1].failure == "cut"
    assert [*client.stream(ASK)][-1].truncated
    server.script(events(chunk(" Keys. ", finish="stop"), DONE))
    assert [*client.stream(ASK)][:1] == [" Keys. "]
    assert len(server.asked) == 3
    piece, reply = client.stream(ASK)
    assert piece == "Keys." and isinstance(reply, Reply) and reply.cached and reply.text == "Keys."
    assert client.complete(ASK).text == "Keys."  # the same question, streamed or not
    assert len(server.asked) == 3


def test_strict_raises_and_a_long_prompt_is_not_sent(server: LocalServer) -> None:
    server.script(Answer({}, status=401))
    with pytest.raises(StageFailed, match="http_401"):
        list(LlmClient(settings(server), strict=True).stream(ASK))
    (reply,) = LlmClient(settings(server)).stream(Prompt("x" * 200_000))
    assert isinstance(reply, Reply) and reply.failure == "prompt_too_long"
    assert len(server.asked) == 1


def test_closing_it_hangs_up(server: LocalServer) -> None:
    server.script(events(*[chunk("word ")] * 2000, drip=0.001))
    stream = LlmClient(settings(server)).stream(ASK)
    assert next(stream) == "word "
    before = threading.active_count()
    stream.close()
    deadline = time.monotonic() + 5
    while threading.active_count() >= before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert threading.active_count() < before  # the server's thread noticed


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_events_in_any_pieces(ending: str, size: int) -> None:
    text = ": comment\ndata: one\n\nid: 7\ndata:two\ndata:  three\n\n\n\ndata: é\n\ndata: unfinished"
    raw = text.replace("\n", ending).encode()
    reader = _Events()
    found = [data for i in range(0, len(raw), size) for data in reader.feed(raw[i : i + size])]
    assert found == ["one", "two\n three", "é"]


@given(st.binary(max_size=60), st.integers(1, 9))
def test_any_bytes_are_read_the_same_in_any_pieces(raw: bytes, size: int) -> None:
    raw += b"\n\ndata: end\n\n"
    whole, pieces = _Events(), _Events()
    parts = [data for i in range(0, len(raw), size) for data in pieces.feed(raw[i : i + size])]
    assert parts == list(whole.feed(raw))
    assert parts[-1:] == ["end"]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda c: (
            st.lists(c, max_size=3)
            | st.dictionaries(st.sampled_from(["choices", "delta", "content", "type", "error", "text"]), c, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_any_json_is_an_event_or_a_failure(value: object) -> None:
    for wire in ("openai", "anthropic"):
        made = LlmSettings(url="http://127.0.0.1:1", model="m", wire=wire)
        assert isinstance(read_event(json.dumps(value), made), Heard)
