"""What goes into a build: where documents come from, how they are cut, embedded and indexed."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from rag_pipeline.settings.base import Strict
from rag_pipeline.settings.bundled import BUNDLED, bundled_corpus


class SourceSettings(Strict):
    """One folder or fsspec URL."""

    path: str
    name: str = ""
    """Prefix of document ids; needed where a collection has several sources."""
    include: tuple[str, ...] = ("**/*",)
    """Patterns of paths inside the folder; one without a slash (`*.md`) matches the name at any depth."""
    exclude: tuple[str, ...] = ()

    @field_validator("path")
    @classmethod
    def _bundled(cls, value: str) -> str:
        return str(bundled_corpus()) if value == BUNDLED else value


class ChunkingSettings(Strict):
    chunker: str = "sections"
    section_tokens: Annotated[int, Field(ge=16)] = 512
    """Cap of a parent section."""
    section_min_tokens: Annotated[int, Field(ge=0)] = 96
    """Smaller sections are packed together with their neighbours, up to the cap."""
    child_tokens: Annotated[int, Field(ge=8)] = 200
    """Target size of a child."""
    child_overlap_tokens: Annotated[int, Field(ge=0)] = 0
    unit: Literal["tokens", "words"] = "tokens"
    """What the three sizes above count: model tokens or words. The model's limit always counts tokens."""
    min_chars: Annotated[int, Field(ge=0)] = 50
    """Pieces shorter than this, after short sections were merged upward, are rejected."""
    prefix_tokens: Annotated[int, Field(ge=0)] = 48
    """Most tokens that title and header path may take in front of the searched text."""
    html_comments: Literal["drop", "keep"] = "drop"
    boilerplate_share: Annotated[float, Field(gt=0, le=1)] = 0.3
    """A block that occurs word for word in more than this share of the documents is boilerplate."""
    boilerplate_min_documents: Annotated[int, Field(ge=2)] = 10
    """Corpora smaller than this are not searched for boilerplate."""

    @model_validator(mode="after")
    def _sizes(self) -> "ChunkingSettings":
        if self.child_overlap_tokens >= self.child_tokens:
            raise ValueError(
                f"child_overlap_tokens ({self.child_overlap_tokens}) must be smaller than "
                f"child_tokens ({self.child_tokens})"
            )
        if self.child_tokens > self.section_tokens:
            raise ValueError(
                f"child_tokens ({self.child_tokens}) must not exceed section_tokens ({self.section_tokens})"
            )
        return self


PRECISIONS = {"onnxruntime": ("fp32", "int8"), "openvino": ("fp32", "bf16", "int8"), "sentence-transformers": ("fp32",)}


class EmbeddingSettings(Strict):
    model: str = "all-MiniLM-L6-v2"
    """Name of a packaged model, a sentence-transformers model name, or a folder."""
    runtime: Literal["onnxruntime", "openvino", "sentence-transformers"] = "onnxruntime"
    """What runs it, for documents and queries alike: onnxruntime comes with every install; "openvino" needs its extra;
    "sentence-transformers" runs models that can't be exported, and brings torch to wherever queries are answered."""
    precision: Literal["fp32", "bf16", "int8"] = "fp32"
    """"bf16" (openvino) and "int8" (openvino, onnxruntime) are about twice as fast. fp32 is the default because a
    release must be servable on any machine, and not every processor has bf16; runtime and precision are part of the
    model's fingerprint, so another one is another index."""
    query_prefix: str = ""
    document_prefix: str = ""
    batch_tokens: Annotated[int, Field(ge=256)] = 1024
    """Most tokens in one run of the model; for onnxruntime more than this is slower, not faster."""
    threads: Annotated[int, Field(ge=0)] = 0
    """0 = one thread a core."""

    @model_validator(mode="after")
    def _precision(self) -> "EmbeddingSettings":
        allowed = PRECISIONS[self.runtime]
        if self.precision not in allowed:
            raise ValueError(f"precision {self.precision!r} is not one of {self.runtime}'s: {', '.join(allowed)}")
        return self


class IndexSettings(Strict):
    language: str = "english"
    """Snowball stemmer of the lexical analyzer, or "none"."""
    k1: Annotated[float, Field(gt=0)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    hnsw: bool | Literal["auto"] = "auto"
    """DuckDB's own index over `chunks.embedding`, for SQL users and `search = "hnsw"`. "auto": up to 100,000 chunks;
    above that it takes most of the build's time, and inverted lists search faster."""
    lists: Annotated[int, Field(ge=0)] = 0
    """Inverted lists; 0 = by the number of chunks, from `lists_from` chunks on."""
    lists_from: Annotated[int, Field(ge=1)] = 30_000
    """Smaller builds have no lists: exact search is faster there."""
    hnsw_m: Annotated[int, Field(ge=4, le=128)] = 16
    hnsw_ef_construction: Annotated[int, Field(ge=16)] = 128
    hnsw_ef_search: Annotated[int, Field(ge=16)] = 256
