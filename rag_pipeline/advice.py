"""Commands that messages advise. Each names its collection: without `-c` it would act on another one, the default."""

from pathlib import Path

from rag_pipeline.paths import CollectionPaths


def advised(paths: CollectionPaths, command: str) -> str:
    """`advised(paths, "release rollback")` is "`rag-pipeline release rollback -c guides`"."""
    return f"`rag-pipeline {command} -c {paths.root.name}`"


def mend(paths: CollectionPaths) -> str:
    """What to do about a release or build that can't be served."""
    again, back = advised(paths, "reindex"), advised(paths, "release rollback")
    return f"make it again with {again}, or go back to an earlier one with {back}"


def owner(folder: Path) -> CollectionPaths:
    """The collection that the folder of a build or a release lies in."""
    return CollectionPaths(folder.absolute().parent.parent)
