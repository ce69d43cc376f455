"""`KEY=VALUE` on the command line, as a settings file would have it."""

import tomllib
from typing import Any

from rag_pipeline.errors import InvalidSettings


def assignment(given: str) -> tuple[str, Any]:
    """`"candidates=200"` -> `("candidates", 200)`. A value that is no TOML is text, so names need no quotes.

    Raises InvalidSettings without a key or a value.
    """
    key, _, value = given.partition("=")
    key, value = key.strip(), value.strip()
    if not key or not value:
        raise InvalidSettings(f"{given!r} sets nothing; write KEY=VALUE, as candidates=200")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value
