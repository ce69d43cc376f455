"""GET /health, /ready and /metrics, for what watches the server."""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from rag_pipeline.serving.models import HealthReply, ReadyReply
from rag_pipeline.serving.routers.errors import errors
from rag_pipeline.serving.service import AnyCaller, TheService

router = APIRouter(tags=["operations"])


@router.get("/health")
async def health() -> HealthReply:
    """The process answers. Open to everyone."""
    return HealthReply()


@router.get("/ready", responses={503: {"model": ReadyReply, "description": "Not ready"}})
async def ready(response: Response, service: TheService) -> ReadyReply:
    """Every published collection answers a question. Open to everyone, and names nothing."""
    reasons = await service.operations.run(service.readiness.reasons)
    response.status_code = 503 if reasons else 200
    return ReadyReply(ready=not reasons, reasons=list(reasons))


@router.get("/metrics", responses=errors(), response_class=Response)
async def metrics(service: TheService, caller: AnyCaller) -> Response:
    """Prometheus text; any key may read it."""
    del caller
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
