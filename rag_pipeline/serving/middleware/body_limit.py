"""No request body beyond its size: refused by what it says it has, and cut off where it says nothing or lies."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_pipeline.serving.middleware.send import headers_of, send_problem
from rag_pipeline.serving.problems import Problem


class BodyLimit:
    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        message = f"the request is larger than {self._most} bytes; send less"
        length = headers_of(scope).get("content-length", "")
        if length.isdigit() and int(length[:20]) > self._most:
            await send_problem(Problem(413, "TooLarge", message), scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            received = await receive()
            seen += len(received.get("body", b""))
            if seen > self._most:
                raise HTTPException(413, message)
            return received

        await self._app(scope, counted, send)
