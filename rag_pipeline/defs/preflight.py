"""What can be known to be wrong before the first step: names and sources, so that a slip costs no work and no disk."""

from pathlib import Path

import snowballstemmer

from rag_pipeline.chunking.registry import CHUNKERS
from rag_pipeline.errors import InvalidSettings, InvalidSource
from rag_pipeline.evaluation.metrics.registry import NAMES
from rag_pipeline.settings.base import pick
from rag_pipeline.settings.load import Settings
from rag_pipeline.sources.folder import LocalFolder, open_folder
from rag_pipeline.sources.scan import holds_any


def check_collection(settings: Settings, name: str) -> None:
    """Raises UnknownName, InvalidSettings or InvalidSource; touches nothing on disk."""
    own = settings.collection(name)
    if not own.sources:
        raise InvalidSettings(
            f"collection {name!r} has no sources; name a folder in its `sources`, or pass --source DIR"
        )
    pick(CHUNKERS, own.chunking.chunker, "chunker")
    settings.strategy(settings.default_strategy)
    for metric in (own.gate.metric, *own.gate.floors):
        pick(dict.fromkeys(NAMES), metric, f"metric in [collections.{name}.gate]")
    languages = {"none", *snowballstemmer.algorithms()}
    if own.index.language not in languages:
        raise InvalidSettings(
            f"collection {name!r}: index.language {own.index.language!r} has no stemmer; "
            f"known: {', '.join(sorted(languages))}"
        )
    if own.eval_set and not Path(own.eval_set).is_dir():
        raise InvalidSettings(f"collection {name!r}: eval_set {own.eval_set!r} is not a folder; correct or remove it")
    for source in own.sources:
        folder = open_folder(source.path)
        # A folder on another machine is listed once, by the run.
        if isinstance(folder, LocalFolder) and not own.allow_empty and not holds_any(source):
            raise InvalidSource(f"source {source.path!r} holds no files; put documents there, or pass --allow-empty")
