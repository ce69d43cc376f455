"""Which snapshot a chunking was made from, as the chunking itself recorded it."""

import json
from pathlib import Path

from rag_pipeline.errors import InvalidSource


def snapshot_of_chunking(chunking: Path) -> str:
    """The snapshot's key. Raises InvalidSource where chunking.json can't be read or doesn't say."""
    try:
        return str(json.loads((chunking / "chunking.json").read_text("utf-8"))["snapshot"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidSource(
            f"{chunking / 'chunking.json'}: not readable ({error}); chunk the documents again"
        ) from error
