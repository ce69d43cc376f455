"""Settings and names as a command sees them."""

import os
from pathlib import Path

from rag_pipeline.errors import NoRelease
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.settings.load import Settings, load_settings


def settings_for(config: Path | None, home: Path | None) -> Settings:
    settings = load_settings(config)
    return settings.model_copy(update={"home": home}) if home is not None else settings


def collection_name(settings: Settings, given: str | None) -> str:
    return given or os.environ.get("RAG_PIPELINE_COLLECTION") or settings.default_collection


def served_collection(settings: Settings, given: str | None) -> CollectionPaths:
    """Paths of a collection that exists on disk. Raises UnknownName that lists those that do, NoRelease without any."""
    from rag_pipeline.retrieval.reader import collections, existing_collection

    home = Home(settings.home)
    if not collections(home):
        raise NoRelease(f"nothing is indexed under {home.root} yet; run `rag-pipeline reindex`")
    return existing_collection(home, collection_name(settings, given))
