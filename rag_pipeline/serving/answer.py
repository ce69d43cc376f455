"""From a request for an answer to the retrieval it rests on and the answerer that makes it."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag_pipeline.answering.base import Answer, Answerer
from rag_pipeline.answering.registry import open_answerer
from rag_pipeline.answering.similarity import model_similarity
from rag_pipeline.context.present import sources_of
from rag_pipeline.errors import InvalidSettings
from rag_pipeline.llm.client import Llm
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.language_model import query_llm
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.schema import Principal, RetrievalResult
from rag_pipeline.serving.answer_models import AnswerBody, AnswerRequest, CitedReply
from rag_pipeline.serving.ask import ask
from rag_pipeline.serving.models import RetrieveReply
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.query_log import remember
from rag_pipeline.serving.reply import public_source, reply_of
from rag_pipeline.serving.service import Service

MODEL_SHARE = 0.9
"""Of an answer's time; the rest is the retrieval's, and a model that is late makes an abstention, not an error."""

log = logging.getLogger("rag_pipeline.serving")


@dataclass(frozen=True, slots=True)
class Retrieved:
    result: RetrievalResult
    """With its formatted context, whether or not the reply shows it."""
    reply: RetrieveReply
    answerer: Answerer


def retrieved(
    service: Service, request: AnswerRequest, *, paths: CollectionPaths, principal: Principal | None
) -> Retrieved:
    """Raises as `retrieve` does, and Problem (409) for a language model that this server doesn't have."""
    llm = _language_model(service) if request.answerer == "llm" else None
    asked = request.model_copy(update={"return_formatted": True})
    opened = open_current(paths)  # once: a publish meanwhile must not mix two releases
    result = ask(asked, paths=paths, models=service.home.models, principal=principal, opened=opened)
    service.metrics.retrieved(result)
    query_id = remember(service, result, principal=principal, filters=request.filters)
    shown = result if request.return_formatted else replace(result, formatted_context=None)
    fingerprint = opened.release.embedder_fingerprint
    similarity = model_similarity(service.home.models, fingerprint)
    answerer = open_answerer(request.answerer, llm=llm, similarity=similarity)
    return Retrieved(result, reply_of(shown, explain=request.explain, query_id=query_id), answerer)


def answer_pieces(found: Retrieved) -> Iterator[str | Answer]:
    return found.answerer.stream(found.result.query, found.result)


def answer_body(answer: Answer, result: RetrievalResult) -> AnswerBody:
    """Without the model's address, which is the server's own business."""
    sources = {source.doc_id: source for source in sources_of(result.hits, result.citations)}
    return AnswerBody(
        text=answer.text,
        citations=[
            CitedReply(
                number=cited.number,
                document=cited.doc_id,
                section=cited.section_id,
                title=sources[cited.doc_id].title,
                source=public_source(sources[cited.doc_id].source, cited.doc_id),
            )
            for cited in answer.citations
        ],
        invalid_citations=list(answer.invalid_citations),
        answerer=answer.answerer,
        abstained=answer.abstained,
        reason=answer.reason,
        markers=list(answer.markers),
    )


def _language_model(service: Service) -> Llm:
    try:
        llm = query_llm(seconds=MODEL_SHARE * service.serving.answer_seconds)
    except InvalidSettings as error:  # it may quote the environment, which is for the operator alone
        log.error("%s", error)
        llm = None
    if llm is None:
        raise Problem(
            409, "NoLanguageModel", "this server has no language model to answer with; use the answerer 'extractive'"
        )
    return llm
