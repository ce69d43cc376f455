"""GET /api/releases and POST /api/releases/rollback: what is stored, and going back."""

from typing import Annotated

from fastapi import APIRouter, Query

from rag_pipeline.errors import NoRelease, UnknownName
from rag_pipeline.release.listing import list_releases, status
from rag_pipeline.release.rollback import rollback as roll_back
from rag_pipeline.serving.models import ReleaseReply, ReleasesReply, RollbackReply, RollbackRequest
from rag_pipeline.serving.problems import Problem, public_text
from rag_pipeline.serving.routers.errors import errors
from rag_pipeline.serving.service import Operator, Reader, TheService

router = APIRouter(tags=["releases"])


@router.get("/api/releases", responses=errors(404, 422))
async def releases(
    service: TheService, caller: Reader, collection: Annotated[str | None, Query(max_length=200)] = None
) -> ReleasesReply:
    """Every stored release, newest first, and which one is in service."""
    del caller
    paths = service.collection(collection)

    def work() -> ReleasesReply:
        now = status(paths)
        rows = [
            ReleaseReply(
                release_id=row.release_id,
                current=row.current,
                champion=row.champion,
                state=row.state,
                build_key=row.build_key,
                documents=row.documents,
                chunks=row.chunks,
                bytes=row.bytes,
                verdict=row.verdict,
                created=row.created,
            )
            for row in list_releases(paths)
        ]
        return ReleasesReply(collection=paths.root.name, current=now.current, stale=now.stale, releases=rows)

    return await service.operations.run(work)


@router.post("/api/releases/rollback", responses=errors(400, 404, 409, 413, 422))
async def rollback(body: RollbackRequest, service: TheService, caller: Operator) -> RollbackReply:
    """Serve an earlier release again, after its whole build has been read and verified."""
    paths = service.collection(body.collection)

    def work() -> RollbackReply:
        try:
            done = roll_back(paths, body.release_id, reason=body.reason, who=f"api key {caller.name}")
        except UnknownName as error:
            raise Problem(404, "UnknownRelease", public_text(str(error))) from error
        except NoRelease as error:
            raise Problem(409, "NothingToRollBackTo", public_text(str(error))) from error
        return RollbackReply(
            collection=paths.root.name, previous=done.previous, current=done.current, skipped=list(done.skipped)
        )

    return await service.operations.run(work)
