"""Who asks, as the commands about eval sets take it, and what they say where labels quote restricted documents."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rag_pipeline.schema import Principal

F = TypeVar("F", bound=Callable[..., Any])
RESTRICTED = (
    "This set quotes documents that have an access list (restricted = true in its eval_set.toml): keep it as private as"
    " they are."
)


def principal_options(command: F) -> F:
    identity = click.option(
        "--as", "identity", metavar="USER", help="Ask as this user; without it, only public documents are quoted."
    )
    group = click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group of that user.")
    return identity(group(command))


def principal_of(identity: str | None, groups: tuple[str, ...]) -> "Principal | None":
    from rag_pipeline.schema import Principal

    if groups and identity is None:
        raise click.UsageError("--group needs --as USER")
    return None if identity is None else Principal(identity, groups)
