"""Errors as the API's description lists them."""

from typing import Any

from rag_pipeline.serving.models import ErrorReply

_WHAT = {
    400: "The request can't be understood",
    401: "No key, or one that is not known",
    403: "The key lacks the scope",
    404: "No such thing, or none that this caller may see",
    409: "Not now: something else is going on or has moved",
    413: "The request is too large",
    422: "A field is wrong",
    429: "Too many requests",
    500: "The server's own fault; names the request id",
    503: "Not able to answer now",
    504: "No answer in time",
}


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The given ones and those that any guarded route may answer with."""
    always = (401, 403, 429, 500, 503, 504)
    return {code: {"model": ErrorReply, "description": _WHAT[code]} for code in sorted({*codes, *always})}
