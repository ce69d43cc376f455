"""POST /api/documents/reindex-all and its status. What is served changes only when the whole run ends well."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from rag_pipeline.errors import UnknownName
from rag_pipeline.release.undescribed import described
from rag_pipeline.serving.models import ReindexRequest, RunReply
from rag_pipeline.serving.problems import Problem, public_text
from rag_pipeline.serving.reindex.record import Run
from rag_pipeline.serving.routers.errors import errors
from rag_pipeline.serving.service import Operator, TheService

router = APIRouter(tags=["documents"])


@router.post("/api/documents/reindex-all", status_code=202, responses=errors(400, 404, 409, 413, 422))
async def reindex_all(
    service: TheService, caller: Operator, response: Response, body: ReindexRequest | None = None
) -> RunReply:
    """Start a re-index of one collection; one at a time. The run's status is where `Location` says."""
    name = (body.collection if body else None) or service.settings.default_collection
    try:
        described(service.settings, name, tell_folder=False)
    except UnknownName as error:
        raise Problem(404, "UnknownCollection", public_text(str(error))) from error
    run = await service.operations.run(lambda: service.reindexer.start(name, requested_by=caller.name))
    response.headers["Location"] = f"/api/documents/reindex/{run.run_id}"
    return _reply(run)


@router.get("/api/documents/reindex/{run}", responses=errors(404, 422))
async def reindex_status(
    service: TheService, caller: Operator, run: Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
) -> RunReply:
    """How a re-index stands or ended."""
    del caller
    found = await service.operations.run(service.reindexer.find, run)
    if found is None:
        raise Problem(404, "UnknownRun", "no such run; only the latest are kept")
    return _reply(found)


def _reply(run: Run) -> RunReply:
    return RunReply(
        run_id=run.run_id,
        collection=run.collection,
        state=run.state,
        backend=run.backend,
        started=run.started,
        ended=run.ended,
        requested_by=run.requested_by,
        error=None if run.error is None else dict(run.error),
        report=None if run.report is None else dict(run.report),
    )
