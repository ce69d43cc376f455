"""Every answer within its time, reading the request included; a late one is a 504."""

import asyncio
from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from rag_pipeline.serving.middleware.send import Sent, send_problem
from rag_pipeline.serving.problems import Problem


class Deadline:
    def __init__(self, app: ASGIApp, *, seconds: float, slower: Mapping[str, float]) -> None:
        self._app = app
        self._seconds = seconds
        self._slower = slower
        """Path -> seconds, where it is not the usual time."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seconds, sent = self._slower.get(scope["path"], self._seconds), Sent(send)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                await self._app(scope, receive, sent)
        except TimeoutError:
            if not limit.expired() or sent.status:
                raise
            message = f"no answer within {seconds:g} s; try again, or ask for less"
            await send_problem(Problem(504, "Timeout", message), scope, receive, sent)
