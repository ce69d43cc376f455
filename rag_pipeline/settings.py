"""Settings: TOML in, frozen models out; an unknown key is an error that names the allowed ones.

The package's own `defaults.toml` is read first, then one settings file: the path given, else $RAG_PIPELINE_CONFIG,
else ./rag_pipeline.toml. Tables merge by key; a collection or strategy of the same name is merged field by field.
Where data is kept comes from $RAG_PIPELINE_HOME, else `home` in the file, else ./data.
"""

import difflib
import os
import re
import tomllib
import zoneinfo
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rag_pipeline.errors import InvalidSettings, UnknownName

RESERVED_COLLECTIONS = frozenset({"models", "embeddings", "mlartifacts", "dagster"})
T = TypeVar("T")
CRON = re.compile(r"\s*(?:[\d*/,\-]+\s+){3}[\d*/,\-A-Za-z]+\s+[\d*/,\-A-Za-z]+\s*")
BUNDLED = "bundled:agent_platform"
"""Stands for the bundled corpus, or its questions, wherever the package lies."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        for key in data if isinstance(data, Mapping) else ():
            if key not in cls.model_fields:
                known = sorted(cls.model_fields)
                raise ValueError(f"unknown key {str(key)!r}{suggestion(str(key), known)}; known: {', '.join(known)}")
        return data


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


class EmbeddingSettings(Strict):
    model: str = "all-MiniLM-L6-v2"
    """Name of a packaged model, a sentence-transformers model name, or a folder."""
    runtime: Literal["onnxruntime", "sentence-transformers"] = "onnxruntime"
    query_prefix: str = ""
    document_prefix: str = ""
    batch_tokens: Annotated[int, Field(ge=256)] = 1024
    """Most tokens in one run of the model; for onnxruntime more than this is slower, not faster."""
    threads: Annotated[int, Field(ge=0)] = 0
    """0 = one thread a core."""


class IndexSettings(Strict):
    language: str = "english"
    """Snowball stemmer of the lexical analyzer, or "none"."""
    k1: Annotated[float, Field(gt=0)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    hnsw: bool = True
    hnsw_m: Annotated[int, Field(ge=4, le=128)] = 16
    hnsw_ef_construction: Annotated[int, Field(ge=16)] = 128
    hnsw_ef_search: Annotated[int, Field(ge=16)] = 256


class RerankerSettings(Strict):
    """Which model a reranker opens, and how long it may take; each reads what it knows."""

    model: str = ""
    """A model's name or a folder; "" = the reranker's own default."""
    url: str = ""
    """Where a FlashRank model is fetched from, or where a hosted reranker answers."""
    sha256: str = ""
    """Of what is fetched."""
    download: bool = False
    """Allow a cross-encoder or a FlashRank model to be downloaded."""
    window: Annotated[int, Field(ge=16, le=512)] = 128
    """Tokens around the hit that "maxsim" reads."""
    seconds: Annotated[float, Field(gt=0, le=120)] = 5.0
    """A query waits no longer; then the first stage's order stands, with a marker."""


class StrategySettings(Strict):
    """How a query is answered."""

    transform: str = "none"
    """What is searched for besides the query: "template" (offline), or by a language model "rewrite", "hyde",
    "multi_query", "decompose"."""
    transform_weight: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Share of the variants together in the fused score; the query as it was asked has the rest."""
    transform_seconds: Annotated[float, Field(gt=0, le=120)] = 8.0
    """A query waits no longer for the language model."""

    vector_weight: Annotated[float, Field(ge=0, le=1)] = 0.6
    """1 = vector leg alone, 0 = BM25 leg alone."""
    fusion: Literal["convex", "rrf"] = "convex"
    rrf_k: Annotated[int, Field(ge=1)] = 60
    candidates: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Candidates of each leg."""
    evidence: Annotated[float, Field(ge=0)] = 1 / 3
    """Share of the sum of a document's three best chunk scores that is added to each of its chunks; 0 = off."""
    search: Literal["auto", "exact", "hnsw"] = "auto"
    exact_limit: Annotated[int, Field(ge=0)] = 100_000
    """`auto` searches exactly up to this many rows."""
    reranker: str = "none"
    """"maxsim", "lexical", "flashrank", "cross_encoder", "cohere", "voyage", "jina"."""
    reranker_options: RerankerSettings = RerankerSettings()
    rerank_candidates: Annotated[int, Field(ge=1, le=1000)] = 20
    """Best sections that are reranked; the others stay behind them in their order."""
    rerank_top: Annotated[int | None, Field(ge=1)] = None
    """How many go on after reranking; None = all."""
    rerank_weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    """1 = the reranker alone, 0 = the first stage alone."""
    min_relevance: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Floor on the calibrated probability; without a calibration it is skipped visibly."""
    diversity: Annotated[float, Field(ge=0, le=1)] = 0.0
    """1 - lambda of maximal marginal relevance; 0 = order by score alone."""
    top_k: Annotated[int, Field(ge=1, le=1000)] = 5
    """Sections returned."""
    strict: bool = False
    """A transform, reranker or floor that could not run is an error instead of a marker."""


class ContextSettings(Strict):
    """A preset for one kind of caller: how to search, and what to make of what was found."""

    strategy: str = "hybrid"
    vector_weight: Annotated[float | None, Field(ge=0, le=1)] = None
    """In place of the strategy's; the keyword leg has the rest."""
    expand: bool = False
    """Search for more than the query: the strategy's transform, or "template" where it has none. False = no transform.
    """
    rerank: bool = False
    """The strategy's reranker, or "maxsim" where it has none. False = no reranker."""
    parents: bool = True
    """Present whole sections, as far as the budget allows, instead of the chunks that were found."""
    diversity: Annotated[float, Field(ge=0, le=1)] = 0.0
    min_relevance: Annotated[float | None, Field(ge=0, le=1)] = None
    """In place of the strategy's."""
    max_chunks: Annotated[int, Field(ge=1, le=1000)] = 5
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 1500
    """Of the whole formatted context."""
    form: Literal["markdown", "json"] = "markdown"
    tokenizer: str = ""
    """A tokenizer.json that counts the budget; "" = the embedding model's own."""
    strict: bool | None = None
    """In place of the strategy's."""


class GateSettings(Strict):
    """When a release may replace the one in service."""

    metric: str = "ndcg_at_10"
    """The one metric that decides; `document_ndcg_at_10` where labels name whole documents."""
    floors: Mapping[str, float] = {}
    """Metric -> least mean that every served strategy must reach; the only rule for a first release."""
    margin: Annotated[float, Field(gt=0, lt=1)] = 0.02
    """A mean loss larger than this is refused; a loss that is surely smaller is "not worse"."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Level of the one-sided paired test: how often an equal release may be refused by chance."""
    coverage: Annotated[float, Field(ge=0, le=1)] = 0.9
    """Least share of the answerable questions that must be comparable."""
    max_failed: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Most questions, as a share, that may end in an error."""
    policy: Literal["lenient", "strict"] = "lenient"
    """What "insufficient evidence" means: published with a warning, or refused."""
    resamples: Annotated[int, Field(ge=99)] = 9999
    """Of the bootstrap and of the randomisation test."""
    seed: int = 0
    half: Literal["both", "held_out"] = "both"
    """Which questions judge. The gate compares two releases whose settings are fixed, and all questions find smaller
    losses than half of them; "held_out" where settings are tuned often, so that none is judged by what it was tuned on.
    """
    latency_p95_ms: Mapping[str, Annotated[float, Field(gt=0)]] = {"total": 500.0}
    """Stage -> most milliseconds at the 95th percentile under the default strategy; a stage that didn't run is not
    asked."""


class PinnedQuery(Strict):
    """A query whose answer a person knows; a release that answers it otherwise is stopped."""

    query: Annotated[str, Field(min_length=1)]
    expect: str = ""
    """Text that stands in the found section; case doesn't matter."""
    document: str = ""
    """Document id of the found section, as a pattern ("sql/*")."""
    within: Annotated[int, Field(ge=1, le=10)] = 1
    """The expected section is among this many first ones."""

    @model_validator(mode="after")
    def _expects(self) -> "PinnedQuery":
        if not self.expect and not self.document:
            raise ValueError("say what to `expect`, in which `document`, or both")
        return self


class CollectionSettings(Strict):
    sources: tuple[SourceSettings, ...] = ()
    chunking: ChunkingSettings = ChunkingSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    duplicates: Literal["collapse", "keep"] = "collapse"
    """Exact duplicates (same text, same access list): one canonical document that names the others, or all of them."""
    default_access: Literal["public", "restricted"] = "public"
    """What a document without an access list is."""
    max_failed_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """More failed inputs than this share stops the run; one alone never does, unless this is 0."""
    max_file_bytes: Annotated[int, Field(ge=1)] = 50_000_000
    allow_empty: bool = False
    """Allow an index without a single chunk."""
    keep_releases: Annotated[int, Field(ge=1)] = 5
    reindex_cron: str = "0 2 * * *"
    """When the nightly re-index runs, in `timezone`."""
    timezone: str = "UTC"
    watch: bool = False
    """Start the sensor that re-indexes when the sources changed."""
    eval_set: str | None = None
    """Folder of the questions that judge a release (eval_sets/README.md); None: probes made from the corpus itself."""
    gate: GateSettings = GateSettings()
    pinned: tuple[PinnedQuery, ...] = ()
    """Asked of every release, together with those in the eval set's pinned.toml."""

    @field_validator("eval_set")
    @classmethod
    def _bundled(cls, value: str | None) -> str | None:
        return str(bundled_eval_set()) if value == BUNDLED else value

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str) -> str:
        try:
            zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"no time zone is called {value!r}; write one as Europe/Berlin, or UTC") from None
        return value

    @field_validator("reindex_cron")
    @classmethod
    def _cron(cls, value: str) -> str:
        if not CRON.fullmatch(value):
            raise ValueError(f"{value!r} is not a cron schedule; write five fields, as '0 2 * * *' for two at night")
        return value

    @field_validator("sources")
    @classmethod
    def _names(cls, sources: tuple[SourceSettings, ...]) -> tuple[SourceSettings, ...]:
        names = [s.name for s in sources]
        if len(sources) > 1 and (len(set(names)) < len(names) or "" in names):
            raise ValueError("several sources need a distinct `name` each: it becomes the prefix of their document ids")
        return sources


class Settings(Strict):
    home: Path = Path("data")
    default_collection: str = "agent_platform"
    collections: Mapping[str, CollectionSettings] = {}
    strategies: Mapping[str, StrategySettings] = {}
    default_strategy: str = "hybrid"
    contexts: Mapping[str, ContextSettings] = {}
    serving: Mapping[str, Any] = {}
    """The server's table, read strictly by `rag_pipeline.serving.settings`."""

    @field_validator("collections")
    @classmethod
    def _collection_names(cls, value: Mapping[str, CollectionSettings]) -> Mapping[str, CollectionSettings]:
        for name in value:
            check_collection_name(name)
        return value

    def collection(self, name: str) -> CollectionSettings:
        """Raises UnknownName."""
        return pick(self.collections, name, "collection")

    def strategy(self, name: str) -> StrategySettings:
        """Raises UnknownName."""
        return pick(self.strategies, name, "strategy")


def pick(table: Mapping[str, T], name: str, what: str) -> T:
    """`table[name]`, or UnknownName that lists what there is."""
    if name in table:
        return table[name]
    raise UnknownName(f"unknown {what} {name!r}{suggestion(name, table)}; known: {', '.join(sorted(table)) or 'none'}")


def suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def check_collection_name(name: str) -> str:
    """A collection's name is a folder and a Dagster key; raises ValueError where it can't be."""
    if not NAME.fullmatch(name) or name in RESERVED_COLLECTIONS:
        raise ValueError(
            f"collection name {name!r} must match {NAME.pattern} and not be one of "
            + ", ".join(sorted(RESERVED_COLLECTIONS))
        )
    return name


def bundled_corpus() -> Path:
    """The corpus that ships with the package: inside a wheel, or beside the package in a checkout."""
    package = Path(__file__).parent
    inside = package / "eval_sets" / "agent_platform" / "corpus"
    return inside if inside.is_dir() else package.parent / "eval_sets" / "agent_platform" / "corpus"


def bundled_eval_set() -> Path:
    """The questions about the bundled corpus; the folder that holds it."""
    return bundled_corpus().parent


def load_settings(path: Path | None = None, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the defaults and one settings file. Raises InvalidSettings naming the file and the field."""
    data = tomllib.loads(resources.files("rag_pipeline").joinpath("defaults.toml").read_text("utf-8"))
    file = path or _settings_file(environ)
    if file is not None:
        data = _merged(data, _read_toml(file))
    if environ.get("RAG_PIPELINE_HOME"):
        data["home"] = environ["RAG_PIPELINE_HOME"]
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise InvalidSettings(explain(error, str(file or "the built-in defaults"))) from error


def explain(error: ValidationError, where: str) -> str:
    """One line a problem: the field, what is wrong, and the nearest known key."""
    lines = []
    for problem in error.errors():
        field = ".".join(str(p) for p in problem["loc"])
        told = problem["msg"].removeprefix("Value error, ")
        lines.append(f"{field}: {told}" if field else told)
    return f"{where}: " + "; ".join(lines)


def _settings_file(environ: Mapping[str, str]) -> Path | None:
    if environ.get("RAG_PIPELINE_CONFIG"):
        return Path(environ["RAG_PIPELINE_CONFIG"])
    local = Path("rag_pipeline.toml")
    return local if local.is_file() else None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidSettings(f"{path}: no such settings file; create it or unset RAG_PIPELINE_CONFIG") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(f"{path}: not readable as TOML: {error}") from error


def _merged(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` on top of `base`, table by table."""
    out = dict(base)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(out.get(key), dict):
            out[key] = _merged(out[key], value)
        else:
            out[key] = value
    return out
