"""`rag-pipeline serve`: the HTTP API and the playground page."""

import os
import sys
from pathlib import Path

import click

from rag_pipeline.cli.context import settings_for
from rag_pipeline.cli.options import config_option, home_option
from rag_pipeline.errors import MissingExtra


@click.command("serve", short_help="Serve the HTTP API and the playground page.")
@click.option("--host", help="Address to listen on; anything but loopback needs --keys. [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65_535), help="[default: 8470]")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Processes that answer; one a core is a good number. [default: 1]",
)
@click.option("--keys", type=click.Path(path_type=Path, dir_okay=False), help="TOML or JSON file of hashed keys.")
@click.option("--new-key", metavar="NAME", help="Print a new key and its table for the key file, then exit.")
@click.option("--identity", metavar="USER", help="With --new-key: as whom it reads. [default: public documents only]")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="With --new-key: a group of that user.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "operate", "act-as"]),
    help="With --new-key: read, operate (re-index, roll back) or act-as (name the user it asks for). [default: read]",
)
@home_option
@config_option
def command(
    host: str | None,
    port: int | None,
    workers: int | None,
    keys: Path | None,
    new_key: str | None,
    identity: str | None,
    groups: tuple[str, ...],
    scopes: tuple[str, ...],
    home: Path | None,
    config: Path | None,
) -> None:
    """Serve the HTTP API and, at /, a page to compare strategies on.

    \b
    Examples:
      rag-pipeline serve                                       http://127.0.0.1:8470, no keys
      rag-pipeline serve --workers 2                           on a machine with two cores
      rag-pipeline serve --new-key bot --scope read --scope act-as
      rag-pipeline serve --host 0.0.0.0 --keys keys.toml

    Limits and further settings are in the [serving] table of the settings file.
    """
    if new_key is not None:
        print_new_key(new_key, identity=identity, groups=groups, scopes=scopes or ("read",))
        return
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra(error.name or "fastapi", "serve") from error
    # Requests run side by side already; waiting for a second pool of threads would only make each of them later.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from rag_pipeline.serving.settings import serving_settings
    from rag_pipeline.serving.workers import serve

    settings = settings_for(config, home)
    serving = serving_settings(settings, host=host, port=port, keys=keys, workers=workers)
    sys.exit(serve(settings, serving=serving, config=config))


def print_new_key(name: str, *, identity: str | None, groups: tuple[str, ...], scopes: tuple[str, ...]) -> None:
    from typing import cast

    from rag_pipeline.serving.keys import Scope, new_key

    if groups and identity is None:
        raise click.UsageError("--group needs --identity USER")
    token, table = new_key(name, identity=identity, groups=groups, scopes=cast("tuple[Scope, ...]", scopes))
    click.echo(f"the key, shown this once: {token}", err=True)
    click.echo(table)
