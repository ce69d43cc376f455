"""GET /api/document: a document's text, so that a hit can be read where it stands."""

from typing import Annotated

from fastapi import APIRouter, Query

from rag_pipeline.serving.document import read_document
from rag_pipeline.serving.models import DocumentReply
from rag_pipeline.serving.routers.errors import errors
from rag_pipeline.serving.service import Reader, TheService

router = APIRouter(tags=["retrieval"])


@router.get("/api/document", responses=errors(400, 404, 409, 422))
async def document(
    service: TheService,
    caller: Reader,
    id: Annotated[str, Query(min_length=1, max_length=2000, description="`document` of a result.")],
    collection: Annotated[str | None, Query(max_length=200)] = None,
    release: Annotated[
        str | None, Query(max_length=40, description="`release` of the result: offsets are only true there.")
    ] = None,
    around: Annotated[int, Query(ge=0, le=2**31, description="Code point to show where the text is cut.")] = 0,
) -> DocumentReply:
    """The text of one document that the caller may read, whole where it is short enough."""
    paths = service.collection(collection)

    def work() -> DocumentReply:
        most = service.serving.document_characters
        return read_document(paths, id, principal=caller.principal, release=release, around=around, most=most)

    return await service.retrievals.run(work)
