"""A model's reply read as one JSON object of a known shape, strictly: nothing is guessed, nothing gets a default.

`"0.8"` is no number, `true` is no number, -1 is not in 0..1, text around the object is not JSON, a key too many or too
few is an error. Asking is `client.py`'s.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Field(Protocol):
    def problem(self, value: Any) -> str | None:
        """What is wrong with the value; None where nothing is."""
        ...

    def schema(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Number:
    low: float
    high: float

    def problem(self, value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"must be a number, not {type(value).__name__}"
        if not (math.isfinite(value) and self.low <= value <= self.high):
            return f"must lie in {self.low:g} to {self.high:g}"
        return None

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Text:
    max_chars: int
    empty: bool = False

    def problem(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return f"must be text, not {type(value).__name__}"
        if len(value) > self.max_chars:
            return f"must not be longer than {self.max_chars} characters"
        return None if self.empty or value.strip() else "must not be empty"

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class Choice:
    values: tuple[str, ...]

    def problem(self, value: Any) -> str | None:
        return None if isinstance(value, str) and value in self.values else f"must be one of {', '.join(self.values)}"

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.values)}


@dataclass(frozen=True, slots=True)
class Texts:
    """From `least` to `most` texts."""

    most: int
    max_chars: int
    least: int = 0

    def problem(self, value: Any) -> str | None:
        if not isinstance(value, list):
            return f"must be a list, not {type(value).__name__}"
        if not self.least <= len(value) <= self.most:
            return f"must have {self.least} to {self.most} entries"
        return next((found for item in value if (found := Text(self.max_chars).problem(item))), None)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "minItems": self.least, "maxItems": self.most}


Shape = Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class Parsed:
    value: Mapping[str, Any] | None
    problem: str | None


def parse_object(text: str, shape: Shape) -> Parsed:
    """The whole text is one object with exactly the keys of `shape`."""
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        return Parsed(None, f"not one JSON object ({str(error)[:80]})")
    if not isinstance(value, dict):
        return Parsed(None, f"must be a JSON object, not {type(value).__name__}")
    missing, unknown = [key for key in shape if key not in value], [key for key in value if key not in shape]
    if missing or unknown:
        named = [f"key {key!r} is missing" for key in missing] + [f"key {key[:40]!r} is unknown" for key in unknown[:5]]
        return Parsed(None, "; ".join(named))
    for key, field in shape.items():
        if problem := field.problem(value[key]):
            return Parsed(None, f"{key}: {problem}")
    return Parsed(value, None)


def repair_object(text: str, shape: Shape) -> Parsed:
    """The one object inside a code fence or between sentences; two of them, or one of another shape, are a problem."""
    decoder = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique)
    found: list[str] = []
    at = text.find("{")
    while at >= 0 and len(found) < 2:
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return Parsed(None, "holds a brace that opens no JSON object")
        found.append(text[at:end])
        at = text.find("{", end)
    return parse_object(found[0], shape) if len(found) == 1 else Parsed(None, f"holds {len(found)} JSON objects")


def schema(shape: Shape) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key: field.schema() for key, field in shape.items()},
        "required": list(shape),
        "additionalProperties": False,
    }


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value
