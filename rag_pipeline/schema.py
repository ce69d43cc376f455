"""The values that stages exchange: frozen, free of I/O, and the same names as the columns they are stored under.

Offsets are half-open `[start, end)` in code points of `Document.text`, everywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["indexed", "filtered", "skipped", "failed", "notice"]
Stage = Literal["read", "chunk", "embed"]


@dataclass(frozen=True, slots=True)
class Document:
    """One source document after repair; `text` is what every offset refers to.

    `doc_id` is the path inside the collection (POSIX separators), so it never depends on the order of reading.
    `source_map` has breakpoints `(offset in text, offset in the file's decoded text)`; between two breakpoints both
    advance alike; empty means they are equal. `locators` has `(offset in text, label)` for converted formats, where
    the file has no text offsets: "page 3", "cell 7", "#anchor".
    """

    doc_id: str
    source: str
    """Where it was read from: a path or URL a person can open."""
    text: str
    format: str
    """Name of the reader: "markdown", "text", "python", "html", ..."""
    content_hash: str
    """sha256 of `text`, hex."""
    metadata_hash: str
    """sha256 of everything below that a filter or a reader of results can see."""
    title: str
    body_start: int = 0
    """Where the body begins, after front matter."""
    category: str | None = None
    author: str | None = None
    language: str | None = None
    version: str | None = None
    created: str | None = None
    """ISO 8601, UTC, "2026-03-01T00:00:00Z"."""
    updated: str | None = None
    tags: tuple[str, ...] = ()
    access: tuple[str, ...] | None = None
    """Who may read it: "user:<identity>" or "group:<name>"; None when it has no list; an empty list admits nobody."""
    description: str | None = None
    extra: str = "{}"
    """Front matter that has no column of its own, as a JSON object."""
    canonical_id: str | None = None
    """The document this one duplicates (same text, same access list); only the canonical one is chunked."""
    source_map: tuple[tuple[int, int], ...] = ()
    locators: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """The parent: a run of blocks under one heading path."""

    section_id: str
    doc_id: str
    ordinal: int
    start: int
    end: int
    headers: tuple[tuple[int, str], ...]
    """Heading path, outermost first: `((1, "Setup"), (2, "Linux"))`; never empty."""
    kind: str
    """"prose", "code", "table" or "outline"."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The child: what is embedded and searched. `text` equals `document.text[start:end]`."""

    chunk_id: str
    section_id: str
    doc_id: str
    ordinal: int
    """Position in the document, from 0."""
    start: int
    end: int
    text: str
    lead: str
    """Table header repeated in front of later rows of one table; not part of the span; usually ""."""
    search_text: str
    """What is embedded and indexed: title, header path, lead and text; fits the embedding model's limit."""
    tokens: int
    """Model tokens of `search_text`, special tokens included."""
    kind: str


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What became of one input or one piece of it.

    Every input has exactly one entry of stage "read" that is not a notice.
    """

    path: str
    stage: Stage
    outcome: Outcome
    rule: str
    """Short stable name: "duplicate", "binary", "too_short", "base64", "unreadable", "repaired", "moved", ..."""
    detail: str = ""
    start: int | None = None
    end: int | None = None
    size: int | None = None
    """Bytes for inputs, code points for pieces."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. `Principal.system()` sees everything and must be asked for by name."""

    identity: str
    groups: tuple[str, ...] = ()
    is_system: bool = False

    @classmethod
    def system(cls) -> "Principal":
        return cls(identity="system", is_system=True)

    @property
    def entries(self) -> tuple[str, ...]:
        """The access-list entries this principal matches."""
        return (f"user:{self.identity}", *(f"group:{g}" for g in self.groups))


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: a section's best chunk, with where it stands and why it ranked."""

    rank: int
    chunk_id: str
    section_id: str
    doc_id: str
    source: str
    title: str
    headers: tuple[tuple[int, str], ...]
    content: str
    lead: str
    start: int
    end: int
    section_start: int
    section_end: int
    kind: str
    score: float
    """The score that ordered the results."""
    scores: Mapping[str, float]
    """Score of every stage that looked at it: "vector", "bm25", "fused", "evidence", ..."""
    relevance_score: float | None = None
    """Calibrated probability, or None where the release has no calibration."""
    section_content: str = ""
    """Source text of the whole section: the parent that the chunk stands in."""
    also_in: tuple[str, ...] = ()
    """Other documents with the same text."""
    locator: str | None = None
    """Page, cell or element for converted formats."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Where each stage of `scores` ranked it, from 1, among what that stage saw; filled where an explanation was asked
    for. A leg that did not find it has no rank."""


@dataclass(frozen=True, slots=True)
class Citation:
    """What `[number]` refers to in a formatted context."""

    number: int
    section_id: str
    doc_id: str


@dataclass(frozen=True, slots=True)
class Passage:
    """What `[number]` shows its reader, as it stands in the source: nothing is escaped, nothing joined."""

    number: int
    section_id: str
    doc_id: str
    title: str
    headers: tuple[tuple[int, str], ...]
    pieces: tuple[str, ...]
    """In the order of the section; several where it is cut in between."""

    @property
    def text(self) -> str:
        return "\n".join(self.pieces)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One document among the results, in rank order."""

    doc_id: str
    source: str
    title: str
    citations: tuple[int, ...]
    """Numbers of its passages in the formatted context; empty where none found room."""


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    query: str
    collection: str
    strategy: str
    release_id: str
    build_key: str
    hits: tuple[Hit, ...]
    timings_ms: Mapping[str, float]
    candidates: Mapping[str, int]
    """How many each stage saw: "vector", "bm25", "union", "sections"."""
    markers: tuple[str, ...] = ()
    """Stages that could not run or were cut: "relevance=uncalibrated", "query=truncated", ..."""
    empty_reason: str | None = None
    """Why `hits` is empty: "filter_empty", "no_match", "empty_index", "below_min_relevance"; None when it isn't."""
    read_filters: Mapping[str, object] = field(default_factory=dict)
    """Filters that were read from the query's own words, besides those given."""
    cached: Mapping[str, int] = field(default_factory=dict)
    """How many query vectors ("vector") and language model replies ("transform") came from a cache."""
    context: str | None = None
    """The preset that was used; what follows is filled only then."""
    formatted_context: str | None = None
    total_tokens: int | None = None
    """Of `formatted_context`."""
    citations: tuple[Citation, ...] = ()
    sources: tuple[SourceDocument, ...] = ()
    passages: tuple[Passage, ...] = ()
    """What `formatted_context` presents, by number."""


def headers_json(headers: tuple[tuple[int, str], ...]) -> dict[str, str]:
    """`((1, "Setup"), (2, "Linux"))` -> `{"h1": "Setup", "h2": "Linux"}`."""
    return {f"h{level}": title for level, title in headers}


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a long stage; a callback receives these."""

    stage: str
    done: int
    total: int
    seconds: float
    note: str = field(default="")

    @property
    def rate(self) -> float:
        """Items a second so far."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate > 0 else None


@dataclass(frozen=True, slots=True)
class Release:
    """What is served: one build and how it is queried. `release_id` hashes everything but `created`."""

    release_id: str
    collection: str
    build_key: str
    embedder: Mapping[str, str | int]
    """The model queries must be embedded with: fingerprint, model, runtime, dimension, max_tokens, query_prefix."""
    strategies: Mapping[str, Mapping[str, object]]
    default_strategy: str
    created: str
    calibration: Mapping[str, object] | None = None
    contexts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def embedder_fingerprint(self) -> str:
        """Of the model queries must be embedded with."""
        return str(self.embedder["fingerprint"])
