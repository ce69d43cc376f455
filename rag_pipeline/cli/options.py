"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def home_option(command: F) -> F:
    return click.option(
        "--home",
        type=click.Path(path_type=Path, file_okay=False),
        help="Data directory. [default: $RAG_PIPELINE_HOME, else the settings' home, else ./data]",
    )(command)


def config_option(command: F) -> F:
    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Settings file. [default: $RAG_PIPELINE_CONFIG, else ./rag_pipeline.toml if there is one]",
    )(command)


def collection_option(command: F) -> F:
    return click.option(
        "-c", "--collection", help="Collection. [default: $RAG_PIPELINE_COLLECTION, else the settings' default]"
    )(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(command)


def _in_a_folder(context: click.Context, parameter: click.Parameter, file: Path | None) -> Path | None:
    """Told before minutes of measuring, not after."""
    if file is not None and not file.absolute().parent.is_dir():
        raise click.BadParameter(f"the folder {file.parent} does not exist; create it", ctx=context, param=parameter)
    return file


def html_option(command: F) -> F:
    return click.option(
        "--html",
        type=click.Path(path_type=Path, dir_okay=False, writable=True),
        metavar="FILE",
        callback=_in_a_folder,
        help="Write one self-contained page with tables and plots.",
    )(command)
