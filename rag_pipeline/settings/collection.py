"""One corpus with its sources, questions and gate."""

import re
import zoneinfo
from typing import Annotated, Literal

from pydantic import Field, field_validator

from rag_pipeline.settings.base import Strict
from rag_pipeline.settings.build import ChunkingSettings, EmbeddingSettings, IndexSettings, SourceSettings
from rag_pipeline.settings.bundled import BUNDLED, bundled_eval_set
from rag_pipeline.settings.gate import GateSettings, PinnedQuery

RESERVED_COLLECTIONS = frozenset({"models", "embeddings", "mlartifacts", "dagster"})
CRON = re.compile(r"\s*(?:[\d*/,\-]+\s+){3}[\d*/,\-A-Za-z]+\s+[\d*/,\-A-Za-z]+\s*")
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


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
    regression_cron: str = "0 4 * * *"
    """When the release in service is evaluated afresh and compared with its own history."""
    benchmarks_cron: str = "0 5 * * *"
    """When its speed is measured, once that schedule is switched on."""
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

    @field_validator("reindex_cron", "regression_cron", "benchmarks_cron")
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


def check_collection_name(name: str) -> str:
    """A collection's name is a folder and a Dagster key; raises ValueError where it can't be."""
    if not NAME.fullmatch(name) or name in RESERVED_COLLECTIONS:
        raise ValueError(
            f"collection name {name!r} must match {NAME.pattern} and not be one of "
            + ", ".join(sorted(RESERVED_COLLECTIONS))
        )
    return name
