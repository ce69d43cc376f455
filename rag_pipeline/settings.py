"""Settings: TOML in, frozen models out; an unknown key is an error that names the allowed ones.

The package's own `defaults.toml` is read first, then one settings file: the path given, else $RAG_PIPELINE_CONFIG,
else ./rag_pipeline.toml. Tables merge by key; a collection or strategy of the same name is merged field by field.
Where data is kept comes from $RAG_PIPELINE_HOME, else `home` in the file, else ./data.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rag_pipeline.errors import InvalidSettings, UnknownName

RESERVED_COLLECTIONS = frozenset({"models", "embeddings", "mlartifacts", "dagster"})
T = TypeVar("T")
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceSettings(Strict):
    """One folder or fsspec URL."""

    path: str
    name: str = ""
    """Prefix of document ids; needed where a collection has several sources."""
    include: tuple[str, ...] = ("**/*",)
    """Patterns of paths inside the folder; one without a slash (`*.md`) matches the name at any depth."""
    exclude: tuple[str, ...] = ()


class ChunkingSettings(Strict):
    chunker: str = "sections"
    section_tokens: Annotated[int, Field(ge=16)] = 512
    """Cap of a parent section."""
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


class StrategySettings(Strict):
    """How a query is answered."""

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
    top_k: Annotated[int, Field(ge=1, le=1000)] = 5
    """Sections returned."""


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


def load_settings(path: Path | None = None, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the defaults and one settings file. Raises InvalidSettings naming the file and the field."""
    data = tomllib.loads(resources.files("rag_pipeline").joinpath("defaults.toml").read_text("utf-8"))
    file = path or _settings_file(environ)
    if file is not None:
        data = _merged(data, _read_toml(file))
    if environ.get("RAG_PIPELINE_HOME"):
        data["home"] = environ["RAG_PIPELINE_HOME"]
    for collection in data.get("collections", {}).values():
        for source in collection.get("sources", ()) if isinstance(collection, dict) else ():
            if isinstance(source, dict) and source.get("path") == "bundled:agent_platform":
                source["path"] = str(bundled_corpus())
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise InvalidSettings(explain(error, str(file or "the built-in defaults"))) from error


def explain(error: ValidationError, where: str) -> str:
    """One line a problem: the field, what is wrong, and the nearest known key."""
    lines = []
    for problem in error.errors():
        field = ".".join(str(p) for p in problem["loc"])
        lines.append(f"{field}: {problem['msg']}" if field else problem["msg"])
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
