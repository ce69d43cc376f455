"""POST /api/rag/answer: an answer with citations, as server-sent events or as one reply.

    event: retrieval   what was found, as /api/rag/retrieve replies
    event: text        {"text": "..."} pieces of the answer as they come
    event: answer      the answer with its citations; its text counts
    event: error       {"error": {"type", "message"}} instead of `answer`, where it could not be made

A stream ends with `answer` or `error`, always. Lines that begin with a colon keep the connection awake.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from rag_pipeline.answering.base import Answer
from rag_pipeline.errors import RagPipelineError
from rag_pipeline.serving.answer import Retrieved, answer_body, answer_pieces, retrieved
from rag_pipeline.serving.answer_models import AnswerReply, AnswerRequest
from rag_pipeline.serving.feed import Feed
from rag_pipeline.serving.problems import INTERNAL, Problem, problem_body, problem_of
from rag_pipeline.serving.routers.errors import errors
from rag_pipeline.serving.routers.retrieve import check_limits
from rag_pipeline.serving.service import Reader, Service, TheService

router = APIRouter(tags=["retrieval"])
log = logging.getLogger("rag_pipeline.serving")
QUIET_SECONDS = 15.0
EVENTS = "text/event-stream"
EXAMPLE = (
    'event: retrieval\ndata: {"success": true, "query": "...", "result": {}, "metrics": {}}\n\n'
    'event: text\ndata: {"text": "Keys are rotated every 90 days. [1]"}\n\n'
    'event: answer\ndata: {"text": "Keys are rotated every 90 days. [1]", "citations": []}\n\n'
)
EVENT = {
    "type": "object",
    "description": "One event; `data` is JSON.",
    "properties": {
        "event": {"type": "string", "enum": ["retrieval", "text", "answer", "error"]},
        "data": {"type": "string"},
    },
    "required": ["event", "data"],
}
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "With `stream`, events `retrieval`, `text`, and `answer` or `error`; else one JSON reply.",
        "content": {EVENTS: {"schema": EVENT, "example": EXAMPLE}},
    }
}


@router.post("/api/rag/answer", response_model=AnswerReply, responses={**STREAMED, **errors(400, 404, 409, 413, 422)})
async def answer(body: AnswerRequest, service: TheService, caller: Reader) -> Response | AnswerReply:
    """Answer from the release in service, citing passages, or say why there is no answer."""
    check_limits(body, service)
    until = asyncio.get_running_loop().time() + service.serving.answer_seconds
    paths = service.collection(body.collection)
    found = await service.retrievals.run(lambda: retrieved(service, body, paths=paths, principal=caller.principal))
    started = time.perf_counter()
    # A model that writes for a minute must not hold a thread that others search by.
    pool = service.answers if body.answerer == "llm" else service.retrievals
    feed = await Feed[str | Answer].start(pool, lambda: answer_pieces(found))
    if body.stream:
        return StreamingResponse(_events(service, found, feed, until, started), media_type=EVENTS)
    made = await _last(feed, until)
    return AnswerReply(
        retrieval=found.reply,
        answer=answer_body(made, found.result),
        answer_time_ms=_told(service, found, made, started),
    )


async def _last(feed: Feed[str | Answer], until: float) -> Answer:
    """The answer as soon as it is there: what fails or takes long behind it is not waited for, as in a stream."""
    try:
        async for piece in feed.values(until=until, quiet=QUIET_SECONDS):
            if isinstance(piece, Answer):
                return piece
    except TimeoutError:
        raise _late() from None
    finally:
        feed.stop()
    raise AssertionError("unreachable: an answer is an answerer's last word")


async def _events(
    service: Service, found: Retrieved, feed: Feed[str | Answer], until: float, started: float
) -> AsyncIterator[bytes]:
    try:
        yield _event("retrieval", found.reply)
        async for piece in feed.values(until=until, quiet=QUIET_SECONDS):
            if piece is None:
                yield b": waiting\n\n"
            elif isinstance(piece, str):
                yield _event("text", {"text": piece})
            else:
                _told(service, found, piece, started)
                yield _event("answer", answer_body(piece, found.result))
                return  # what fails behind the answer must not follow it
    except Exception as error:  # noqa: BLE001 - the reply has begun: only an event can still tell
        yield _event("error", problem_body(_problem(error)))
    finally:
        feed.stop()


def _late() -> Problem:
    return Problem(504, "Timeout", "no answer in time; try again, or ask for less")


def _problem(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, TimeoutError):
        return _late()
    if isinstance(error, RagPipelineError):
        found = problem_of(error)
        if found.status >= 500:
            log.error("%s: %s", type(error).__name__, error)
        return found
    log.error("an answer failed", exc_info=error)
    return Problem(500, "InternalError", INTERNAL)


def _told(service: Service, found: Retrieved, made: Answer, started: float) -> float:
    """Milliseconds of the answer alone."""
    seconds = time.perf_counter() - started
    service.metrics.gave(found.result.collection, made.answerer, made.reason, seconds)
    return seconds * 1000


def _event(name: str, value: BaseModel | dict[str, Any]) -> bytes:
    data = value.model_dump_json() if isinstance(value, BaseModel) else json.dumps(value, ensure_ascii=False)
    return f"event: {name}\ndata: {data}\n\n".encode("utf-8", "replace")
