"""Request and reply of /api/rag/answer. No logic."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from rag_pipeline.serving.models import CitationReply, Reply, RetrieveReply, RetrieveRequest


class AnswerRequest(RetrieveRequest):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "How often are signing keys rotated?", "context": "chatbot"},
                {"query": "What encryption is used?", "filters": {"category": "security"}, "stream": False},
                {"query": "How does AgentFactory work?", "context": "agent", "answerer": "llm"},
            ]
        },
    )

    answerer: Annotated[
        Literal["extractive", "llm"],
        Field(description="`extractive` quotes sentences of the passages; `llm` asks the server's language model."),
    ] = "extractive"
    stream: Annotated[bool, Field(description="Server-sent events, or one JSON reply.")] = True


class CitedReply(CitationReply):
    title: str
    source: Annotated[str, Field(description="The URL it was read from, else its id in the collection.")]


class AnswerBody(Reply):
    text: Annotated[str, Field(description="With marks `[n]`; empty where it abstains.")]
    citations: Annotated[list[CitedReply], Field(description="What the marks name, in order of first use.")]
    invalid_citations: Annotated[
        list[int], Field(description="Numbers that named no presented passage; their marks were taken out.")
    ]
    answerer: str
    abstained: Annotated[bool, Field(description="Whether there is no answer, for `reason`.")]
    reason: Annotated[str | None, Field(description="no_match, below_floor, not_in_context, refused, timeout, ...")]
    markers: Annotated[list[str], Field(description="What is doubtful about it.")]


class AnswerReply(Reply):
    success: Literal[True] = True
    retrieval: Annotated[RetrieveReply, Field(description="What the answer rests on, as /api/rag/retrieve replies.")]
    answer: AnswerBody
    answer_time_ms: Annotated[float, Field(description="Of the answer alone.")]
