"""What a language model's call gives: text, or why there is none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    """"" where the call failed."""
    failure: str | None = None
    """"timeout", "unreachable", "http_<status>", "malformed", "too_large", "empty", "prompt_too_long"; of a stream also
    "cut", which may leave text."""
    truncated: bool = False
    """The model ran out of tokens, or the reply was longer than the settings allow."""
    cached: bool = False
    attempts: int = 0
    seconds: float = 0.0
