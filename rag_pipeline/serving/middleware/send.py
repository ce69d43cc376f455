"""Helpers for plain ASGI middleware: what has been sent, and an error sent instead of an answer."""

from starlette.types import Message, Receive, Scope, Send

from rag_pipeline.serving.problems import Problem, respond


class Sent:
    """A `send` that remembers the status; 0 until the answer began."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
        await self._send(message)


async def send_problem(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    await respond(problem)(scope, receive, send)


def headers_of(scope: Scope) -> dict[str, str]:
    """By lower-case name; of a header sent twice, the last."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
