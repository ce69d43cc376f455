"""A real HTTP server on the loopback interface that answers what a test scripts and remembers what it was asked."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    value: Any = None
    """Sent as JSON; bytes are sent as they are."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    """Seconds between single bytes."""


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class LocalServer:
    """Gives the scripted answers in turn, the last one for ever; a callable gets the decoded body."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []
        self.answers: list[Answer | Callable[[Any], Answer]] = [Answer({})]
        self.stopped = threading.Event()

    def script(self, *answers: Answer | Callable[[Any], Answer]) -> None:
        self.answers = list(answers)

    def next_answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(asked.body) if callable(answer) else answer


@contextmanager
def local_server() -> Iterator[LocalServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _answer(self, body: Any) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = served.next_answer(Asked(self.command, self.path, headers, body))
            raw = answer.value if isinstance(answer.value, bytes) else json.dumps(answer.value).encode()
            if answer.delay:
                served.stopped.wait(answer.delay)
            try:
                self.send_response(answer.status)
                for name, value in {"content-length": str(len(raw)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in [raw[i : i + 1] for i in range(len(raw))] if answer.drip else [raw]:
                    self.wfile.write(piece)
                    if answer.drip and served.stopped.wait(answer.drip):
                        break
            except OSError:  # the client has given up, which is what some tests are about
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up is part of some tests."""

    server = Server(("127.0.0.1", 0), Handler)
    served = LocalServer(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def elapsed(action: Callable[[], Any]) -> tuple[Any, float]:
    started = time.monotonic()
    return action(), time.monotonic() - started
