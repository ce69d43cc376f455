"""A retrieval's result as the API shows it: plain finite numbers, and no path on the server."""

import math
from collections.abc import Mapping

from rag_pipeline.context.present import sources_of
from rag_pipeline.schema import Hit, RetrievalResult, headers_json
from rag_pipeline.serving.models import (
    ChunkReply,
    CitationReply,
    Offsets,
    RetrieveMetrics,
    RetrieveReply,
    RetrieveResult,
    SourceReply,
)


def reply_of(result: RetrievalResult, *, explain: bool, query_id: str | None = None) -> RetrieveReply:
    timings = {stage: ms for stage, ms in result.timings_ms.items() if math.isfinite(ms)}
    return RetrieveReply(
        query_id=query_id,
        query=result.query,
        collection=result.collection,
        strategy=result.strategy,
        context=result.context,
        release=result.release_id,
        read_filters=dict(result.read_filters),
        empty_reason=result.empty_reason,
        result=RetrieveResult(
            formatted_context=result.formatted_context,
            chunks=[_chunk(hit, explain=explain) for hit in result.hits],
            total_tokens=result.total_tokens,
            citations=[
                CitationReply(number=c.number, document=c.doc_id, section=c.section_id) for c in result.citations
            ],
            sources=_sources(result),
        ),
        metrics=RetrieveMetrics(
            retrieval_time_ms=timings.get("total", 0.0),
            rerank_time_ms=timings.get("rerank", 0.0),
            total_candidates=result.candidates.get("union", 0),
            after_rerank=len(result.hits),
            stages_ms=timings,
            candidates=dict(result.candidates),
            cached=dict(result.cached),
            markers=list(result.markers),
        ),
    )


def public_source(source: str, doc_id: str) -> str:
    """A URL is shown, a path on the server is not."""
    return source if source.partition("://")[0] in {"http", "https"} else doc_id


def _chunk(hit: Hit, *, explain: bool) -> ChunkReply:
    return ChunkReply(
        rank=hit.rank,
        content=hit.content,
        lead=hit.lead,
        source=public_source(hit.source, hit.doc_id),
        document=hit.doc_id,
        title=hit.title,
        headers=headers_json(hit.headers),
        relevance_score=_finite(hit.relevance_score),
        offsets=Offsets(start=hit.start, end=hit.end),
        section=Offsets(start=hit.section_start, end=hit.section_end),
        score=_finite(hit.score),
        scores=_scores(hit.scores) if explain else None,
        ranks=dict(hit.ranks) if explain else None,
        locator=hit.locator,
        also_in=list(hit.also_in),
    )


def _sources(result: RetrievalResult) -> list[SourceReply]:
    """Each document once, in rank order."""
    return [
        SourceReply(
            document=found.doc_id,
            source=public_source(found.source, found.doc_id),
            title=found.title,
            citations=list(found.citations),
        )
        for found in sources_of(result.hits, result.citations)
    ]


def _scores(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {stage: _finite(value) for stage, value in scores.items()}


def _finite(value: float | None) -> float | None:
    """A plain float; what is no number has no place in JSON."""
    return float(value) if value is not None and math.isfinite(value) else None
