"""What every settings table shares: strict keys, and errors that name the nearest known one."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from rag_pipeline.errors import UnknownName

T = TypeVar("T")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        for key in data if isinstance(data, Mapping) else ():
            if key not in cls.model_fields:
                known = sorted(cls.model_fields)
                raise ValueError(f"unknown key {str(key)!r}{suggestion(str(key), known)}; known: {', '.join(known)}")
        return data


def pick(table: Mapping[str, T], name: str, what: str) -> T:
    """`table[name]`, or UnknownName that lists what there is."""
    if name in table:
        return table[name]
    raise UnknownName(f"unknown {what} {name!r}{suggestion(name, table)}; known: {', '.join(sorted(table)) or 'none'}")


def suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def explain(error: ValidationError, where: str) -> str:
    """One line a problem: the field, what is wrong, and the nearest known key."""
    lines = []
    for problem in error.errors():
        field = ".".join(str(p) for p in problem["loc"])
        told = problem["msg"].removeprefix("Value error, ")
        lines.append(f"{field}: {told}" if field else told)
    return f"{where}: " + "; ".join(lines)
