"""GET /api/about: what the caller may do here, and the names a request may use."""

from fastapi import APIRouter

from rag_pipeline.errors import RagPipelineError
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.filters import KEYS
from rag_pipeline.retrieval.reader import collections, open_current
from rag_pipeline.serving.models import AboutReply, CollectionReply
from rag_pipeline.serving.routers.errors import errors
from rag_pipeline.serving.service import Reader, TheService

router = APIRouter(tags=["retrieval"])


@router.get("/api/about", responses=errors(422))
async def about(service: TheService, caller: Reader) -> AboutReply:
    """Collections with their strategies and contexts, filter keys, and the caller's scopes."""

    def work() -> AboutReply:
        return AboutReply(
            key=caller.name,
            identity=caller.principal.identity if caller.principal else None,
            scopes=sorted(caller.scopes),
            default_collection=service.settings.default_collection,
            collections=[_described(service.home.collection(name)) for name in collections(service.home)],
            filters=list(KEYS),
            max_chunks=service.serving.max_chunks,
            query_log=service.query_log is not None,
        )

    return await service.retrievals.run(work)


def _described(paths: CollectionPaths) -> CollectionReply:
    name = paths.root.name
    try:
        release = open_current(paths).release
    except RagPipelineError:  # listed all the same; asking it tells why it can't answer
        return CollectionReply(name=name, release=None, strategies=[], default_strategy=None, contexts=[])
    return CollectionReply(
        name=name,
        release=release.release_id,
        strategies=sorted(release.strategies),
        default_strategy=release.default_strategy,
        contexts=sorted(release.contexts),
    )
