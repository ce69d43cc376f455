"""The mark of a variant: a release made to be compared, whose folder says what differs from the collection's settings.

It is part of the folder from the first moment. Retention counts a marked release as nothing, so that gc may take it.
"""

from collections.abc import Mapping
from pathlib import Path

from rag_pipeline.durable import write_json

FILE = "variant.json"


def mark_variant(folder: Path, differs: Mapping[str, object]) -> None:
    """`differs`: by dotted name, as "chunking.child_tokens": 120."""
    write_json(folder / FILE, {"differs": dict(differs)})


def unmark_variant(folder: Path) -> None:
    """It has become a candidate like any other, because the settings now say what it says."""
    (folder / FILE).unlink(missing_ok=True)


def is_variant(folder: Path) -> bool:
    return (folder / FILE).is_file()
