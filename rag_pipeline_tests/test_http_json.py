import pytest

from rag_pipeline.http_json import HttpPolicy, JsonPoster
from rag_pipeline_tests.local_server import Answer, LocalServer, elapsed, local_server

QUICK = HttpPolicy(seconds=5, attempts=3, wait=0.01)


@pytest.fixture
def server():
    with local_server() as served:
        yield served


def post(server: LocalServer, policy: HttpPolicy = QUICK):
    with JsonPoster(policy) as poster:
        return poster.post(server.url + "/x", headers={"authorization": "Bearer k"}, body={"a": "ü"})


def test_sends_json_with_headers_and_decodes_the_answer(server: LocalServer) -> None:
    server.script(Answer({"b": 1}))
    reply = post(server)
    assert (reply.value, reply.failure, reply.attempts) == ({"b": 1}, None, 1)
    assert server.asked[0].body == {"a": "ü"}
    assert server.asked[0].headers["authorization"] == "Bearer k"
    assert server.asked[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_passing_error_is_tried_again(server: LocalServer, status: int) -> None:
    server.script(Answer({}, status=status), Answer({"ok": True}))
    reply = post(server)
    assert (reply.value, reply.failure, reply.attempts) == ({"ok": True}, None, 2)


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_an_error_that_stays_is_not(server: LocalServer, status: int) -> None:
    server.script(Answer({"error": "no"}, status=status))
    reply = post(server)
    assert (reply.value, reply.failure, reply.attempts) == (None, f"http_{status}", 1)


def test_tries_are_bounded(server: LocalServer) -> None:
    server.script(Answer({}, status=429))
    reply = post(server)
    assert (reply.failure, reply.attempts, len(server.asked)) == ("http_429", 3, 3)


def test_a_wait_longer_than_the_time_left_ends_it(server: LocalServer) -> None:
    server.script(Answer({}, status=429, headers={"retry-after": "3600"}))
    reply, seconds = elapsed(lambda: post(server))
    assert (reply.failure, reply.attempts) == ("http_429", 1)
    assert seconds < 3


def test_the_server_may_ask_for_a_longer_wait_than_ours(server: LocalServer) -> None:
    server.script(Answer({}, status=503, headers={"retry-after": "2"}), Answer({}))
    waits: list[float] = []
    with JsonPoster(QUICK, sleep=waits.append) as poster:
        poster.post(server.url, headers={}, body={})
    assert waits == [2.0]


def test_waits_double_and_vary(server: LocalServer) -> None:
    server.script(Answer({}, status=500))
    waits: list[float] = []
    with JsonPoster(HttpPolicy(seconds=60, attempts=4, wait=1.0), sleep=waits.append) as poster:
        poster.post(server.url, headers={}, body={})
    assert [0.5 * 2**i <= wait <= 2**i for i, wait in enumerate(waits)] == [True] * 3


def test_a_slow_server_times_out(server: LocalServer) -> None:
    server.script(Answer({}, delay=10))
    reply, seconds = elapsed(lambda: post(server, HttpPolicy(seconds=0.3)))
    assert reply.failure == "timeout"
    assert seconds < 3


def test_a_dripping_server_times_out(server: LocalServer) -> None:
    """Each single read is fast, so that no read ever times out by itself."""
    server.script(Answer(b'"' + b"x" * 1000 + b'"', drip=0.02))
    reply, seconds = elapsed(lambda: post(server, HttpPolicy(seconds=0.3)))
    assert reply.failure == "timeout"
    assert seconds < 3


@pytest.mark.parametrize("raw", [b"<html>busy</html>", b"", b'{"a": ', b"[" * 100_000])
def test_what_is_not_json_is_malformed(server: LocalServer, raw: bytes) -> None:
    server.script(Answer(raw))
    assert post(server, HttpPolicy(attempts=1)).failure == "malformed"


def test_a_long_answer_is_not_read_to_its_end(server: LocalServer) -> None:
    server.script(Answer("x" * 100_000))
    assert post(server, HttpPolicy(max_bytes=10_000)).failure == "too_large"


def test_nobody_listens() -> None:
    with local_server() as served:
        url = served.url
    with JsonPoster(HttpPolicy(attempts=2, wait=0.01)) as poster:
        reply = poster.post(url, headers={}, body={})
    assert (reply.failure, reply.attempts) == ("unreachable", 2)


def test_a_redirect_is_not_followed(server: LocalServer) -> None:
    """The key in the headers would go to another host."""
    server.script(Answer({}, status=307, headers={"location": server.url + "/elsewhere"}))
    assert post(server).failure == "http_307"
    assert [asked.path for asked in server.asked] == ["/x"]


def test_a_lone_surrogate_in_the_body_does_not_raise(server: LocalServer) -> None:
    server.script(Answer({}))
    with JsonPoster(QUICK) as poster:
        assert poster.post(server.url, headers={}, body={"q": "a\ud800b"}).failure is None
    assert server.asked[0].body == {"q": "a?b"}
