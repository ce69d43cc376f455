"""Errors as a client sees them: a status, a short type and a message that tells nothing about the server.

    {"error": {"type": "UnknownName", "message": "unknown filter 'colour'; known: author, category, ..."}}

A client's own mistake is explained in full. What went wrong inside is named by type alone; the log has the rest.
"""

import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from rag_pipeline.errors import RagPipelineError
from rag_pipeline.text.repair import repair_text

MOST_CHARACTERS = 600

# An absolute path down to its last folder, on either kind of system; URLs keep theirs.
_FOLDERS = re.compile(r"(?<![\w:/.~-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:'\",;]+[/\\])+")

STATUS: Mapping[str, int] = {
    "InvalidQuery": 400,
    "UnknownName": 422,
    "InvalidSettings": 422,
    "BuildBusy": 409,
    "ReleaseRefused": 409,
    "NoRelease": 503,
    "CorruptBuild": 503,
    "IncompatibleBuild": 503,
    "ModelUnavailable": 503,
    "MissingExtra": 503,
    "StageFailed": 503,
}
"""By class name; any other error of ours is a 500."""

EXPLAINED = frozenset({"InvalidQuery", "UnknownName", "InvalidSettings", "BuildBusy", "ReleaseRefused", "StageFailed"})
"""Errors whose own message goes out, without paths."""

FIXED: Mapping[str, str] = {
    "NoRelease": "nothing is published yet; re-index the collection first",
    "CorruptBuild": "the release in service can't be read; an operator must roll back or re-index",
    "IncompatibleBuild": "the release in service was made by another version; an operator must re-index",
    "ModelUnavailable": "the query model is not on this server; an operator must install it or re-index",
    "MissingExtra": "a part that this request needs is not installed on this server",
}
INTERNAL = "something went wrong on the server; report the request id"


class Problem(Exception):
    """An answer that is an error, raised anywhere below a router."""

    def __init__(self, status: int, kind: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.headers = dict(headers or {})


def problem_of(error: RagPipelineError) -> Problem:
    kind = type(error).__name__
    message = str(error) if kind in EXPLAINED else FIXED.get(kind, INTERNAL)
    return Problem(STATUS.get(kind, 500), kind if kind in STATUS else "InternalError", public_text(message))


def problem_body(problem: Problem) -> dict[str, dict[str, str]]:
    return {"error": {"type": problem.kind, "message": public_text(problem.message)}}


def respond(problem: Problem) -> JSONResponse:
    return JSONResponse(problem_body(problem), status_code=problem.status, headers=problem.headers)


def public_text(message: str) -> str:
    """Fit to be sent: no folders, no lone surrogates, not longer than a paragraph."""
    text = _FOLDERS.sub("…/", repair_text(message[: 4 * MOST_CHARACTERS]))
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def explain_invalid(errors: Any) -> str:
    """One line from the framework's list of problems with a request: where and what, never the value."""
    lines = []
    for problem in list(errors)[:5]:
        where = ".".join(str(part) for part in problem["loc"])
        lines.append(f"{where}: {problem['msg']}")
    return "; ".join(lines) or "the request can't be read"
