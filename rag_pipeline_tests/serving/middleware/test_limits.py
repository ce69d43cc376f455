import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from rag_pipeline.serving.routers import retrieve as retrieve_router
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import ask, serving


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Retrievals that wait until the event is set."""
    gate, real = threading.Event(), retrieve_router.ask

    def waiting(*args: Any, **options: Any) -> Any:
        gate.wait(10)
        return real(*args, **options)

    monkeypatch.setattr(retrieve_router, "ask", waiting)
    yield gate
    gate.set()


def test_a_body_that_is_too_large(served: Served) -> None:
    with serving(served, max_body_bytes=2000) as client:
        assert ask(client, "x" * 1000).status_code == 200
        reply = ask(client, "x" * 3000)
        assert (reply.status_code, reply.json()["error"]["type"]) == (413, "TooLarge")


def test_a_body_that_does_not_say_how_large_it_is(served: Served) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"query": "'
        for _ in range(100):
            yield b"x" * 100
        yield b'"}'

    with serving(served, max_body_bytes=2000) as client:
        reply = client.post("/api/rag/retrieve", content=pieces(), headers={"content-type": "application/json"})
    assert reply.status_code == 413


def test_an_answer_that_takes_too_long(served: Served, stuck: threading.Event) -> None:
    with serving(served, request_seconds=0.2) as client:
        started = time.monotonic()
        reply = ask(client)
        assert time.monotonic() - started < 5
        assert (reply.status_code, reply.json()["error"]["type"]) == (504, "Timeout")
        assert reply.headers["x-request-id"]
        stuck.set()
        assert ask(client).status_code == 200


def test_the_line_is_bounded(served: Served, stuck: threading.Event) -> None:
    with serving(served, threads=1, queue=1) as client, ThreadPoolExecutor(4) as clients:
        waiting = [clients.submit(ask, client) for _ in range(2)]
        while client.app.state.service.retrievals.pending < 2:  # type: ignore[attr-defined]
            time.sleep(0.01)
        reply = ask(client)
        assert (reply.status_code, reply.json()["error"]["type"]) == (503, "Busy")
        assert reply.headers["retry-after"] == "1"
        assert client.get("/health").status_code == 200  # a full line does not make it look dead
        stuck.set()
        assert [w.result().status_code for w in waiting] == [200, 200]


def test_only_json_is_read(client: TestClient) -> None:
    """A form of another site can send text/plain without asking first, but never application/json."""
    body = b'{"query": "pump"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        assert client.post("/api/rag/retrieve", content=body, headers={"content-type": kind}).status_code == 422
    assert client.post("/api/rag/retrieve", content=body).status_code == 422
