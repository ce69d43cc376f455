"""A number, a line in the log and a measurement for every request; an unexpected error becomes a plain 500.

A line holds no query, no document and no user: only the key's name, the route as declared, the status and the time.
"""

import logging
import time
import uuid
from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_pipeline.serving.middleware.send import Sent, send_problem
from rag_pipeline.serving.problems import INTERNAL, Problem

log = logging.getLogger("rag_pipeline.serving")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
Measure = Callable[[str, str, int, float], None]


class RequestLog:
    def __init__(self, app: ASGIApp, *, measure: Measure) -> None:
        self._app = app
        self._measure = measure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number, started = uuid.uuid4().hex, time.perf_counter()

        async def numbered(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Request-ID"] = number
            await send(message)

        sent = Sent(numbered)
        try:
            await self._app(scope, receive, sent)
        except Exception:
            log.exception("request %s failed", number)
            if not sent.status:
                message = f"{INTERNAL} {number}"
                await send_problem(Problem(500, "InternalError", message), scope, receive, sent)
        finally:
            self._note(scope, number, sent.status, time.perf_counter() - started)

    def _note(self, scope: Scope, number: str, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = getattr(scope.get("route"), "path", "none")
        caller = getattr(scope.get("state", {}).get("caller"), "name", "-")
        self._measure(method, route, status, seconds)
        log.info("%s %s %s %d %.1f ms %s", number, method, route, status, seconds * 1000, caller)
