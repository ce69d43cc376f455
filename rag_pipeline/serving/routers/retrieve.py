"""POST /api/rag/retrieve: a question to the release in service."""

from fastapi import APIRouter

from rag_pipeline.serving.ask import ask
from rag_pipeline.serving.models import RetrieveReply, RetrieveRequest
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.query_log import remember
from rag_pipeline.serving.reply import reply_of
from rag_pipeline.serving.routers.errors import errors
from rag_pipeline.serving.service import Reader, Service, TheService

router = APIRouter(tags=["retrieval"])


@router.post("/api/rag/retrieve", responses=errors(400, 404, 409, 413, 422))
async def retrieve(body: RetrieveRequest, service: TheService, caller: Reader) -> RetrieveReply:
    """Search the release in service: ranked chunks, and a context that fits the token budget."""
    check_limits(body, service)
    paths = service.collection(body.collection)

    def work() -> RetrieveReply:
        result = ask(body, paths=paths, models=service.home.models, principal=caller.principal)
        service.metrics.retrieved(result)
        query_id = remember(service, result, principal=caller.principal, filters=body.filters)
        return reply_of(result, explain=body.explain, query_id=query_id)

    return await service.retrievals.run(work)


def check_limits(body: RetrieveRequest, service: Service) -> None:
    """Raises Problem (422) where more is asked for than this server gives."""
    for name, asked, most in (
        ("max_chunks", body.max_chunks, service.serving.max_chunks),
        ("max_tokens", body.max_tokens, service.serving.max_tokens),
    ):
        if asked is not None and asked > most:
            raise Problem(422, "InvalidRequest", f"{name}: this server gives at most {most}")
