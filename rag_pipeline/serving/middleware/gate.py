"""Who may pass: keys, how often, and on a server without keys from where. Decided before the body is read."""

import logging
import math

from starlette.types import ASGIApp, Receive, Scope, Send

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.serving.caller import LOCAL, Caller, bearer, caller_with
from rag_pipeline.serving.keys import KeyFile
from rag_pipeline.serving.middleware.send import headers_of, send_problem
from rag_pipeline.serving.origin import is_local
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.rate import RateLimit

log = logging.getLogger("rag_pipeline.serving")
GUARDED = ("/api/", "/metrics")
"""The page, its files, /health, /ready and the API's description hold nothing and are open."""


class Gate:
    """Puts the Caller into `scope["state"]["caller"]`; scopes are the routers' business."""

    def __init__(
        self, app: ASGIApp, *, keys: KeyFile | None, rate: RateLimit, allowed_origins: tuple[str, ...]
    ) -> None:
        self._app = app
        self._keys = keys
        self._rate = rate
        self._allowed_origins = allowed_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._admit(scope)
            except Problem as problem:
                await send_problem(problem, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _admit(self, scope: Scope) -> None:
        headers = headers_of(scope)
        if self._keys is None and not is_local(headers, allowed_origins=self._allowed_origins):
            raise Problem(403, "Forbidden", "this server has no keys and answers this machine's own programs only")
        if not scope["path"].startswith(GUARDED):
            return
        caller = self._caller(headers, self._keys)
        address = scope["client"][0] if scope.get("client") else "unknown"
        wait = self._rate.take(f"key {caller.name}" if caller else f"address {address}")
        if wait:
            after = str(math.ceil(wait))
            raise Problem(429, "TooManyRequests", f"try again in {after} s", headers={"Retry-After": after})
        if caller is None:
            raise Problem(
                401,
                "Unauthorized",
                "send a key as `Authorization: Bearer <key>`",
                headers={"WWW-Authenticate": "Bearer"},
            )
        scope.setdefault("state", {})["caller"] = caller

    @staticmethod
    def _caller(headers: dict[str, str], keys: KeyFile | None) -> Caller | None:
        if keys is None:
            return LOCAL
        token = bearer(headers)
        if token is None:
            return None
        try:
            key = keys.ring().find(token)
        except InvalidSettings as error:
            log.error("%s", error)
            raise Problem(503, "KeysUnreadable", "the server's key file can't be read; tell its operator") from None
        return caller_with(key) if key else None
