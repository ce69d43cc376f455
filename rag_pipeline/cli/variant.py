"""`rag-pipeline variant`: the same documents cut, embedded or queried otherwise, to be compared."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option

if TYPE_CHECKING:
    from rag_pipeline.settings.base import Strict
    from rag_pipeline.settings.strategy import StrategySettings

TABLES = ("chunking", "embedding", "index", "strategies")


@click.command("variant", short_help="Build a collection otherwise, to compare.")
@click.option("--preset", metavar="NAME", help='Named chunk sizes, as "30/100 words".')
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="As the settings file has it: chunking.child_tokens=120, index.hnsw=false, strategies.hybrid.evidence=0.",
)
@click.option("--of", metavar="RELEASE", help="Release whose documents to take. [default: the one in service]")
@collection_option
@home_option
@config_option
@json_option
def command(
    preset: str | None,
    assignments: tuple[str, ...],
    of: str | None,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Build the documents of a release with other settings and store it as a release that is never published by itself.

    `compare --release` measures it, `diff` sets it against another. gc takes it with the next re-index.

    \b
    Examples:
      rag-pipeline variant --set chunking.child_tokens=120
      rag-pipeline variant --preset "30/100 words" --set strategies.hybrid.vector_weight=0.5
      rag-pipeline diff RELEASE_IN_SERVICE RELEASE_OF_THE_VARIANT
    """
    from rag_pipeline.chunking.presets import PRESETS
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.cli.progress import shown
    from rag_pipeline.paths import Home
    from rag_pipeline.release.variant import make_variant
    from rag_pipeline.settings.base import pick
    from rag_pipeline.settings.collection import CollectionSettings

    if preset is None and not assignments:
        raise click.UsageError("say what differs, with --preset or --set")
    settings = settings_for(config, home)
    name = served_collection(settings, collection).root.name
    own = settings.collections.get(name, CollectionSettings())
    given = _tables(assignments)
    chunking = pick(PRESETS, preset, "preset") if preset else own.chunking
    with shown(quiet=as_json) as progress:
        made = make_variant(
            Home(settings.home),
            name,
            settings=settings,
            of=of,
            chunking=_changed(chunking, given["chunking"], "chunking"),
            embedding=_changed(own.embedding, given["embedding"], "embedding"),
            index=_changed(own.index, given["index"], "index"),
            strategies=_strategies(settings.strategies, given["strategies"]),
            progress=progress,
        )
    if as_json:
        print_json(
            {
                "release": made.release.release_id,
                "of": made.of,
                "build_key": made.release.build_key,
                "differs": made.differs,
                "sections": made.sections,
                "chunks": made.chunks,
                "embedded": made.embedded,
                "build_reused": made.build_reused,
            }
        )
        return
    click.echo(made.release.release_id)
    told = ", ".join(f"{key}={value}" for key, value in made.differs.items()) or "nothing"
    click.echo(f"{made.chunks} chunks in {made.sections} sections, {made.embedded} embedded anew; differs: {told}")
    click.echo(f"compare: rag-pipeline diff -c {name} {made.of} {made.release.release_id}")


def _tables(assignments: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """`("chunking.child_tokens=120",)` -> `{"chunking": {"child_tokens": 120}, ...}`; all tables are there."""
    from rag_pipeline.cli.assignments import assignment
    from rag_pipeline.settings.base import pick

    tables: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for item in assignments:
        key, value = assignment(item)
        table, _, field = key.partition(".")
        pick(tables, table, "table")[field] = value
    return tables


def _changed(table: Any, given: Mapping[str, Any], where: str) -> Any:
    """A new table of the same kind. Raises InvalidSettings."""
    from pydantic import ValidationError

    from rag_pipeline.errors import InvalidSettings
    from rag_pipeline.settings.base import explain

    kind: type[Strict] = type(table)
    try:
        return kind.model_validate({**table.model_dump(), **given})
    except ValidationError as error:
        raise InvalidSettings(explain(error, where) + "; correct --set") from error


def _strategies(known: "Mapping[str, StrategySettings]", given: Mapping[str, Any]) -> "dict[str, StrategySettings]":
    """Strategies with their changes; a name that is new begins with the defaults."""
    from rag_pipeline.settings.strategy import StrategySettings

    fields: dict[str, dict[str, Any]] = {}
    for key, value in given.items():
        name, _, field = key.partition(".")
        fields.setdefault(name, {})[field] = value
    return {
        name: _changed(known.get(name, StrategySettings()), changes, f"strategies.{name}")
        for name, changes in fields.items()
    }
