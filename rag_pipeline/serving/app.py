"""The application: routers, the chain in front of them, and what they share."""

import asyncio
import importlib.metadata
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from rag_pipeline.errors import RagPipelineError
from rag_pipeline.paths import Home
from rag_pipeline.serving.keys import KeyFile
from rag_pipeline.serving.metrics import Metrics
from rag_pipeline.serving.middleware.body_limit import BodyLimit
from rag_pipeline.serving.middleware.deadline import Deadline
from rag_pipeline.serving.middleware.gate import Gate
from rag_pipeline.serving.middleware.request_log import RequestLog
from rag_pipeline.serving.middleware.security_headers import SecurityHeaders
from rag_pipeline.serving.pool import Pool
from rag_pipeline.serving.problems import Problem, explain_invalid, problem_of, respond
from rag_pipeline.serving.query_log import keep_pruned, open_query_log
from rag_pipeline.serving.rate import RateLimit
from rag_pipeline.serving.readiness import Readiness
from rag_pipeline.serving.reindex.dagster import DagsterRunner
from rag_pipeline.serving.reindex.process import ProcessRunner
from rag_pipeline.serving.reindex.runs import Reindexer, Runner
from rag_pipeline.serving.routers import about, answer, document, feedback, health, page, reindex, releases, retrieve
from rag_pipeline.serving.service import Service
from rag_pipeline.serving.settings import ServingSettings, check_listen, serving_settings
from rag_pipeline.settings.load import Settings

log = logging.getLogger("rag_pipeline.serving")
ROUTERS = (
    feedback.router,
    retrieve.router,
    answer.router,
    document.router,
    about.router,
    releases.router,
    reindex.router,
    health.router,
    page.router,
)
OPERATIONS_THREADS = 2
OPERATIONS_QUEUE = 16
ANSWER_GRACE = 5.0
"""Seconds that the chain leaves an answer beyond its own limit, so that a late one ends with its own words."""
DESCRIPTION = """
Retrieval from an index that was measured before it was served. Every result names its release.

Send a key as `Authorization: Bearer <key>`. Errors are `{"error": {"type", "message"}}`; every reply has an
`X-Request-ID`.
"""


def create_app(settings: Settings, *, serving: ServingSettings | None = None, config: Path | None = None) -> FastAPI:
    """`config` is the settings file that a re-index of ours is to read too. Raises InvalidSettings."""
    serving = serving or serving_settings(settings)
    check_listen(serving)
    keys = KeyFile(serving.keys) if serving.keys else None
    if keys is not None:
        keys.ring()  # an unusable file is told at the start, not at the first request
    runner: Runner = (
        DagsterRunner(serving.dagster_url, location=serving.dagster_location)
        if serving.dagster_url
        else ProcessRunner(settings.home, config=config)
    )
    metrics = Metrics()
    service = Service(
        settings=settings,
        serving=serving,
        retrievals=Pool(serving.threads, queue=serving.queue, name="retrieval", watch=metrics.pending.set),
        operations=Pool(OPERATIONS_THREADS, queue=OPERATIONS_QUEUE, name="operation"),
        answers=Pool(serving.answer_threads, queue=serving.answer_threads, name="answer"),
        metrics=metrics,
        reindexer=Reindexer(settings.home, runner),
        readiness=Readiness(Home(settings.home)),
        query_log=open_query_log(settings.home, serving),
    )
    app = FastAPI(
        title="rag_pipeline",
        version=importlib.metadata.version("rag-pipeline"),
        description=DESCRIPTION,
        docs_url=None,  # both pages load their code from another host
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.service = service
    for router in ROUTERS:
        app.include_router(router)
    _handle_errors(app)
    _chain(app, serving, keys, metrics)
    return app


def _chain(app: FastAPI, serving: ServingSettings, keys: KeyFile | None, metrics: Metrics) -> None:
    """From the inside out; the last one added sees a request first."""
    # Each of several workers counts alone.
    rate = RateLimit(serving.requests_per_minute / serving.workers, burst=math.ceil(serving.burst / serving.workers))
    slower = dict.fromkeys(("/api/releases", "/api/releases/rollback", "/ready"), serving.operate_seconds)
    slower["/api/rag/answer"] = serving.answer_seconds + ANSWER_GRACE
    app.add_middleware(Deadline, seconds=serving.request_seconds, slower=slower)
    app.add_middleware(BodyLimit, most=serving.max_body_bytes)
    app.add_middleware(Gate, keys=keys, rate=rate, allowed_origins=serving.cors_origins)
    if serving.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=serving.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-Act-As", "X-Act-As-Groups"],
        )
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestLog, measure=metrics.answered)


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(_: Request, error: Problem) -> Response:
        return respond(error)

    @app.exception_handler(RagPipelineError)
    async def ours(_: Request, error: RagPipelineError) -> Response:
        found = problem_of(error)
        if found.status >= 500:
            log.error("%s: %s", type(error).__name__, error)
        return respond(found)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return respond(Problem(422, "InvalidRequest", explain_invalid(error.errors())))

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        kind = {404: "NotFound", 405: "MethodNotAllowed", 413: "TooLarge"}.get(error.status_code, "InvalidRequest")
        return respond(Problem(error.status_code, kind, str(error.detail), headers=error.headers))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    tasks = (
        asyncio.create_task(service.operations.run(service.readiness.reasons)),
        asyncio.create_task(keep_pruned(service, service.operations)),
    )
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    service.retrievals.close()
    service.answers.close()
    service.operations.close()
    service.reindexer.close()
