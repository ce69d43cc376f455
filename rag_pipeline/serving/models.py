"""Requests and replies of the API: strict in, plain out, with an example each. No logic."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from rag_pipeline.querylog.records import QUERY_ID, Rating
from rag_pipeline.serving.filter_limits import bounded_filters
from rag_pipeline.text.repair import repair_text


def _repaired(value: object) -> object:
    return repair_text(value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_repaired)]
"""Lone surrogates and the like replaced before anything else looks."""

Name = Annotated[Text, Field(min_length=1, max_length=200)]
Filters = Annotated[dict[str, Any], AfterValidator(bounded_filters)]

FILTERS_HELP = (
    'Typed conditions, all of which must hold: equality (`{"category": "security"}`), any of a list, `in`, `contains`,'
    " and for `created` and `updated` the bounds `gte`, `gt`, `lte`, `lt` in UTC. Unknown keys are errors."
)


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reply(BaseModel):
    model_config = ConfigDict(frozen=True)


class RetrieveRequest(Request):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "How does AgentFactory work?", "context": "chatbot"},
                {
                    "query": "What encryption is used?",
                    "filters": {"category": "security"},
                    "strategy": "hybrid",
                    "max_chunks": 5,
                    "max_tokens": 1500,
                },
            ]
        },
    )

    query: Annotated[Text, Field(description="What is asked, in words; at most 10,000 characters are read.")]
    collection: Annotated[Name | None, Field(description="Default: the server's default collection.")] = None
    context: Annotated[
        Name | None,
        Field(description="A preset of the release, as chatbot or agent; without one, the strategy alone decides."),
    ] = None
    strategy: Annotated[Name | None, Field(description="Default: the release's.")] = None
    filters: Annotated[Filters, Field(description=FILTERS_HELP)] = {}
    max_chunks: Annotated[int | None, Field(ge=1, le=1000, description="Most results.")] = None
    max_tokens: Annotated[int | None, Field(ge=1, le=1_000_000, description="Budget of the formatted context.")] = None
    return_formatted: Annotated[bool, Field(description="Whether to write `formatted_context`.")] = True
    format: Annotated[
        Literal["markdown", "json"] | None, Field(description="Form of `formatted_context`. Default: the preset's.")
    ] = None
    read_filters: Annotated[
        Literal["none", "rules", "llm"] | None,
        Field(description="Whether limits said in the query become filters, and by what. Default: the strategy's."),
    ] = None
    explain: Annotated[bool, Field(description="Whether each chunk says how every stage scored it.")] = False


class Offsets(Reply):
    start: int
    end: int


class ChunkReply(Reply):
    rank: int
    content: Annotated[str, Field(description="Source text: the document's between `offsets`.")]
    lead: Annotated[str, Field(description="Header of a table whose later rows these are; usually empty.")]
    source: Annotated[str, Field(description="The URL it was read from, else its id in the collection.")]
    document: Annotated[str, Field(description="Id, for /api/document.")]
    title: str
    headers: Annotated[dict[str, str], Field(description='Heading path, as {"h1": ..., "h2": ...}.')]
    relevance_score: Annotated[
        float | None, Field(description="Calibrated probability; null where the release has no calibration.")
    ]
    offsets: Annotated[Offsets, Field(description="Half-open, in code points of the document's text.")]
    section: Offsets
    score: Annotated[float | None, Field(description="What ordered the results.")]
    scores: Annotated[dict[str, float | None] | None, Field(description="By stage; null unless `explain`.")] = None
    ranks: Annotated[
        dict[str, int] | None, Field(description="Its place in each stage, among what that stage saw; with `explain`.")
    ] = None
    locator: Annotated[str | None, Field(description="Page, cell or element of a converted document.")] = None
    also_in: Annotated[list[str], Field(description="Documents with the same text.")] = []


class SourceReply(Reply):
    document: str
    source: str
    title: str
    citations: Annotated[list[int], Field(description="Numbers of its passages in the formatted context.")]


class CitationReply(Reply):
    number: Annotated[int, Field(description="What `[number]` in an answer refers to.")]
    document: str
    section: str


class RetrieveResult(Reply):
    formatted_context: Annotated[str | None, Field(description="null unless `return_formatted`.")]
    chunks: list[ChunkReply]
    total_tokens: Annotated[int | None, Field(description="Of the formatted context; null without one.")]
    citations: list[CitationReply]
    sources: list[SourceReply]


class RetrieveMetrics(Reply):
    retrieval_time_ms: float
    rerank_time_ms: float
    total_candidates: int
    after_rerank: int
    stages_ms: dict[str, float]
    candidates: Annotated[dict[str, int], Field(description="How many each stage saw.")]
    cached: Annotated[dict[str, int], Field(description="Query vectors and model replies that came from a cache.")]
    markers: Annotated[list[str], Field(description="Stages that could not run or were cut.")]


class RetrieveReply(Reply):
    success: Literal[True] = True
    query_id: Annotated[
        str | None, Field(description="For /api/rag/feedback; null where this question was not recorded.")
    ] = None
    query: Annotated[str, Field(description="As it was searched for.")]
    collection: str
    strategy: str
    context: Annotated[str | None, Field(description="The preset that was used.")]
    release: str
    read_filters: Annotated[dict[str, Any], Field(description="Filters read from the query's own words.")]
    empty_reason: Annotated[str | None, Field(description="Why there is no result: no_match, filter_empty, ...")]
    result: RetrieveResult
    metrics: RetrieveMetrics


class FeedbackRequest(Request):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query_id": "20260912-0123456789abcdef0123456789abcdef", "rating": "useful", "rank": 2},
                {
                    "query_id": "20260912-0123456789abcdef0123456789abcdef",
                    "rating": "not_useful",
                    "comment": "all of them are about the old version",
                },
            ]
        },
    )

    query_id: Annotated[str, Field(pattern=QUERY_ID, description="From the reply that the rating is about.")]
    rating: Annotated[Rating, Field(description="Of one result where `rank` or `section` names it, else of them all.")]
    rank: Annotated[int | None, Field(ge=1, le=1000, description="The result that the rating is about.")] = None
    section: Annotated[
        Text | None,
        Field(min_length=1, max_length=1000, description="The same by section id, as in `citations`; not both."),
    ] = None
    comment: Annotated[Text | None, Field(max_length=2000, description="Free words, kept with the record.")] = None


class FeedbackReply(Reply):
    success: Literal[True] = True
    query_id: str


class DocumentReply(Reply):
    document: str
    source: str
    title: str
    format: str
    category: str | None
    author: str | None
    language: str | None
    version: str | None
    created: str | None
    updated: str | None
    tags: list[str]
    release: str
    text: Annotated[str, Field(description="From `offset` on; the whole document where it is short enough.")]
    offset: int
    length: Annotated[int, Field(description="Of the whole document, in code points.")]


class CollectionReply(Reply):
    name: str
    release: Annotated[str | None, Field(description="null before the first publish.")]
    strategies: list[str]
    default_strategy: str | None
    contexts: list[str]


class AboutReply(Reply):
    key: Annotated[str, Field(description="Name of the key that asked.")]
    identity: Annotated[str | None, Field(description="As whom it reads; null = public documents only.")]
    scopes: list[str]
    default_collection: str
    collections: list[CollectionReply]
    filters: Annotated[list[str], Field(description="Keys that a filter may have.")]
    max_chunks: int
    query_log: Annotated[bool, Field(description="Whether questions are recorded, under a keyed hash of the asker.")]


class ReleaseReply(Reply):
    release_id: str
    current: bool
    champion: bool
    state: str
    build_key: str | None
    documents: int | None
    chunks: int | None
    bytes: int | None
    verdict: str
    created: str | None


class ReleasesReply(Reply):
    collection: str
    current: str | None
    stale: Annotated[bool | None, Field(description="Whether the sources were read anew since it was built.")]
    releases: list[ReleaseReply]


class RollbackRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "answers got worse after last night"}]})

    collection: Name | None = None
    release_id: Annotated[
        str | None,
        Field(pattern=r"^[0-9a-f]{20}$", description="Default: the last good release before the one in service."),
    ] = None
    reason: Annotated[Text, Field(max_length=500, description="Goes into the release history.")] = ""


class RollbackReply(Reply):
    success: Literal[True] = True
    collection: str
    previous: str | None
    current: str
    skipped: list[str]


class ReindexRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"collection": "agent_platform"}]})

    collection: Name | None = None


class RunReply(Reply):
    run_id: str
    collection: str
    state: Literal["running", "succeeded", "failed", "lost"]
    backend: Literal["process", "dagster"]
    started: str
    ended: str | None
    requested_by: str
    error: Annotated[dict[str, str] | None, Field(description="type and message of what failed.")]
    report: Annotated[dict[str, Any] | None, Field(description="What the run did, once it succeeded.")]


class HealthReply(Reply):
    status: Literal["ok"] = "ok"


class ReadyReply(Reply):
    ready: bool
    reasons: Annotated[list[str], Field(description="Why not, as short types; no names.")]


class ErrorBody(Reply):
    type: str
    message: str


class ErrorReply(Reply):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"error": {"type": "InvalidQuery", "message": "write at least one word"}}]}
    )

    error: ErrorBody
