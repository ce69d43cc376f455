"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rag_pipeline.schema import Principal

F = TypeVar("F", bound=Callable[..., Any])
RESTRICTED_SET = (
    "This set quotes documents that have an access list (restricted = true in its eval_set.toml): keep it as private as"
    " they are."
)


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


def not_empty(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """A name that a script left empty is told, never taken for the default."""
    if name is not None and not name.strip():
        raise click.BadParameter("is empty; name one, or leave the option out", ctx=context, param=parameter)
    return name


def collection_option(command: F) -> F:
    return click.option(
        "-c",
        "--collection",
        callback=not_empty,
        help="Collection. [default: $RAG_PIPELINE_COLLECTION, else the settings' default]",
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


def principal_options(help_text: str) -> Callable[[F], F]:
    """`--as USER --group GROUP ...`, as `identity` and `groups`; `principal_of` makes a principal of them."""

    def options(command: F) -> F:
        identity = click.option("--as", "identity", metavar="USER", help=help_text)
        group = click.option(
            "--group", "groups", multiple=True, metavar="GROUP", help="A group of that user; repeatable."
        )
        return identity(group(command))

    return options


def principal_of(identity: str | None, groups: tuple[str, ...]) -> "Principal | None":
    from rag_pipeline.schema import Principal

    if groups and identity is None:
        raise click.UsageError("--group needs --as USER")
    return None if identity is None else Principal(identity, groups)
