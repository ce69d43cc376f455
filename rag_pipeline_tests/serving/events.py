"""Server-sent events as a client reads them."""

import json
from typing import Any


def read_events(text: str) -> list[tuple[str, Any]]:
    """Name and decoded data of each event, comments left out."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found
