"""`rag-pipeline reindex`: run a collection's Dagster job in this process."""

import re
from pathlib import Path

import click

from rag_pipeline.cli.context import collection_name, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option
from rag_pipeline.errors import InvalidSettings
from rag_pipeline.settings.build import SourceSettings
from rag_pipeline.settings.bundled import bundled_eval_set
from rag_pipeline.settings.collection import CollectionSettings, check_collection_name
from rag_pipeline.settings.load import Settings


@click.command("reindex", short_help="Read, chunk, embed, build, verify and publish a collection.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="DIR|URL",
    help="Folder or fsspec URL to index; may be repeated. Without it, the collection's sources from the settings.",
)
@collection_option
@click.option("--allow-empty", is_flag=True, help="Publish even when nothing could be indexed.")
@click.option("--verbose", is_flag=True, help="Show Dagster's own log.")
@home_option
@config_option
@json_option
def command(
    sources: tuple[str, ...],
    collection: str | None,
    allow_empty: bool,
    verbose: bool,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Read, chunk, embed, build, verify and publish a collection.

    With --source and no --collection, the collection is named after the folder; give both again to read it
    again, or keep its sources in a settings file. Unchanged chunks are not embedded again; with nothing changed,
    nothing is built. What is served changes only when the whole run succeeds.

    \b
    Examples:
      rag-pipeline reindex --source ./docs                    collection docs: query it with -c docs
      rag-pipeline reindex --source ./handbook --source ./wiki --collection company
      rag-pipeline reindex --collection company --json
    """
    settings = settings_for(config, home)
    name = collection or (name_after(sources[0]) if sources else collection_name(settings, None))
    if not sources:
        from rag_pipeline.release.undescribed import described

        described(settings, name)  # an unknown name is told before Dagster is imported
    settings = with_sources(settings, name, sources, allow_empty=allow_empty)

    from rag_pipeline.cli.output import print_json
    from rag_pipeline.cli.progress import shown
    from rag_pipeline.cli.summary import print_summary
    from rag_pipeline.defs.launch import reindex

    with shown(quiet=as_json) as progress:
        report = reindex(settings, name, progress=progress, verbose=verbose)
    if as_json:
        print_json(report)
    else:
        print_summary(report)


def name_after(source: str) -> str:
    """A collection name from a folder's: "./My Docs/" -> "my_docs"."""
    stem = re.split(r"[/\\]", source.rstrip("/\\"))[-1]
    if stem in {"", ".", ".."}:
        stem = Path(source).resolve().name
    name = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_")
    return name if name[:1].isalpha() else f"c_{name}".rstrip("_")


def with_sources(settings: Settings, name: str, sources: tuple[str, ...], *, allow_empty: bool) -> Settings:
    """The settings with this collection's sources replaced by the given ones."""
    if not sources and not allow_empty:
        return settings
    try:
        check_collection_name(name)
    except ValueError as error:
        raise InvalidSettings(f"{error}; choose another with --collection") from None
    own = settings.collections.get(name, CollectionSettings()) if sources else settings.collection(name)
    changed: dict[str, object] = {"allow_empty": own.allow_empty or allow_empty}
    if sources:
        names = [""] if len(sources) == 1 else [name_after(s) for s in sources]
        if len(set(names)) < len(names):
            raise InvalidSettings("two --source folders have the same name; give them names in a settings file")
        changed["sources"] = tuple(
            SourceSettings(path=source, name=prefix) for source, prefix in zip(sources, names, strict=True)
        )
        if own.eval_set == str(bundled_eval_set()):
            changed["eval_set"] = None  # those questions are about the bundled corpus
    own = own.model_copy(update=changed)
    return settings.model_copy(update={"collections": {**settings.collections, name: own}})
