"""POST /api/rag/feedback: what the one who asked says about a recorded answer."""

import hmac
import logging

from fastapi import APIRouter

from rag_pipeline.querylog.log import QueryLog
from rag_pipeline.querylog.records import LoggedQuery
from rag_pipeline.schema import Principal
from rag_pipeline.serving.models import FeedbackReply, FeedbackRequest
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.routers.errors import errors
from rag_pipeline.serving.service import Reader, TheService

router = APIRouter(tags=["retrieval"])
log = logging.getLogger("rag_pipeline.serving")


@router.post("/api/rag/feedback", responses=errors(400, 404, 409, 413, 422))
async def feedback(body: FeedbackRequest, service: TheService, caller: Reader) -> FeedbackReply:
    """Say whether a recorded answer was useful, and which result was. Only whoever asked may."""
    query_log = service.query_log
    if query_log is None:
        raise Problem(
            409, "QueryLogOff", "this server records no questions; an operator turns it on with query_log = true"
        )

    def work() -> FeedbackReply:
        asked = asked_by(query_log, body.query_id, caller.principal)
        written = query_log.feedback(body.query_id, body.rating, rank=rank_of(body, asked), comment=body.comment)
        service.metrics.recorded("feedback", written.failure)
        if written.failure:
            log.error("query log: feedback was not recorded (%s)", written.failure)
            raise Problem(503, "NotRecorded", "the feedback could not be stored; try again, or tell the operator")
        return FeedbackReply(query_id=body.query_id)

    return await service.retrievals.run(work)


def asked_by(query_log: QueryLog, query_id: str, principal: Principal | None) -> LoggedQuery:
    """Raises Problem (404) where there is no such question, or another asked it: the same words for both."""
    try:
        found = query_log.find(query_id)
    except OSError as error:
        log.error("query log: not readable (%s)", error.strerror)
        raise Problem(503, "NotRecorded", "the record can't be read now; try again, or tell the operator") from None
    if found is None or not hmac.compare_digest(found.asker, query_log.asker(principal)):
        raise Problem(404, "UnknownQuery", "no such question is kept, or another asked it")
    return found


def rank_of(body: FeedbackRequest, asked: LoggedQuery) -> int | None:
    """Of the result that the rating is about; None: all of them. Raises Problem (422)."""
    if body.rank is not None and body.section is not None:
        raise Problem(422, "InvalidRequest", "give `rank` or `section`, not both")
    if body.rank is None and body.section is None:
        return None
    for result in asked.results:
        if body.rank == result.rank or body.section == result.section_id:
            return result.rank
    raise Problem(422, "InvalidRequest", "that question had no such result; give the rank or section of one it had")
