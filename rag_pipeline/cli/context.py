"""Settings and names as a command sees them."""

import os
from pathlib import Path

import click

from rag_pipeline.errors import NoRelease
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.settings.load import Settings, load_settings


def settings_for(config: Path | None, home: Path | None) -> Settings:
    settings = load_settings(config)
    return settings.model_copy(update={"home": home}) if home is not None else settings


def collection_name(settings: Settings, given: str | None) -> str:
    """The collection a command is about, whether or not anything is indexed yet."""
    return given or _from_environment() or settings.default_collection


def collection_to_read(settings: Settings, given: str | None) -> str:
    """As `collection_name`; but where nobody chose one and a single other is indexed, that one, told on stderr.

    A default that a settings file or the environment names is never replaced: it may only not be indexed yet.
    """
    from rag_pipeline.retrieval.reader import collections

    name = collection_name(settings, given)
    chosen = given or _from_environment() or name != Settings.model_fields["default_collection"].default
    known = () if chosen else collections(Home(settings.home))
    if name in known or len(known) != 1:
        return name
    click.echo(f"collection {known[0]}, the only one under {settings.home}; -c {known[0]} names it", err=True)
    return known[0]


def served_collection(settings: Settings, given: str | None) -> CollectionPaths:
    """Paths of a collection that exists on disk. Raises UnknownName that lists those that do, NoRelease without any."""
    from rag_pipeline.retrieval.reader import collections, existing_collection, nothing_indexed

    home = Home(settings.home)
    if not collections(home):
        raise NoRelease(nothing_indexed(home))
    return existing_collection(home, collection_to_read(settings, given))


def _from_environment() -> str | None:
    return os.environ.get("RAG_PIPELINE_COLLECTION")
