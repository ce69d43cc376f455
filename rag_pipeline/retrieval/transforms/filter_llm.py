"""A filter said in words, read by a language model: only values that the collection has, only dates that are days.

What comes back is checked twice: against the shape that was asked for, and by the same code that reads a caller's
filters. A reply that fails either is thrown away, and the rules' reading stands, with a marker. So is a single value of
which the query says no word, and a period where it says nothing of time: a model that invents a limit hides the answer.
A filter only ever narrows what the asker may see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

import regex

from rag_pipeline.errors import InvalidSettings, StageFailed, UnknownName
from rag_pipeline.llm.client import Llm
from rag_pipeline.llm.json_reply import Field, Text
from rag_pipeline.retrieval.filters import parse_filters
from rag_pipeline.retrieval.transforms.ask import question
from rag_pipeline.retrieval.transforms.base import ADVICE
from rag_pipeline.retrieval.transforms.filter_query import (
    LANGUAGES,
    MAX_QUERY_CHARS,
    FilterQuery,
    Vocabulary,
    filter_query,
)
from rag_pipeline.text.analyzer import Analyzer

MOST_VALUES = 50
"""Of one key that the model may choose from; where there are more, those that share a word with the query."""
MOST_CHOSEN = 3
DAYS = ("updated_from", "updated_to", "created_from", "created_to")
_TIME = regex.compile(
    r"(?i)\d|\b(?:last|past|since|before|after|until|till|this|recent(?:ly)?|latest|new(?:est)?|old(?:er|est)?|ago|today"
    r"|yesterday|day|week|month|quarter|year|spring|summer|autumn|fall|winter|seit|vor|nach|letzte\w*|diese\w*|heute"
    r"|gestern|woche|monat|jahr|depuis|avant|après|dernier\w*|semaine|mois|année|desde|antes|después|último|semana|mes|año"
    r"|january|february|march|april|may|june|july|august|september|october|november|december)"
)
TASK = """Today is {today}. The documents have metadata. Say to which documents the query limits itself.

- Choose a value only where the query itself names it or says it in other words. A subject is no limit.
- A period becomes days as YYYY-MM-DD, first and last included; "" where the query gives none.
- Most queries limit nothing: then every list is empty and every day is "".

{values}
Reply with a JSON object with the keys {keys}."""


@dataclass(frozen=True, slots=True)
class Values:
    """At most `most` of the known values."""

    known: tuple[str, ...]
    most: int = MOST_CHOSEN

    def problem(self, value: Any) -> str | None:
        if not isinstance(value, list):
            return f"must be a list, not {type(value).__name__}"
        if len(value) > self.most:
            return f"must have at most {self.most} entries"
        return None if all(isinstance(v, str) and v in self.known for v in value) else "holds a value that isn't known"

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string", "enum": list(self.known)}, "maxItems": self.most}


@dataclass(frozen=True, slots=True)
class FilterReading:
    found: FilterQuery
    markers: tuple[str, ...] = ()
    """"filter=rules:<why>" where the model's reading could not be used, "filter=dropped:<key>" where a part was."""
    cached: bool = False
    seconds: float = 0.0


def filter_llm(
    query: str, *, vocabulary: Vocabulary, today: date, llm: Llm | None, strict: bool = False
) -> FilterReading:
    """The whole query stays what is searched for. Raises StageFailed in strict mode."""
    if llm is None:
        return _by_rules(query, "unconfigured", vocabulary=vocabulary, today=today, strict=strict)
    if len(query) > MAX_QUERY_CHARS:
        return FilterReading(FilterQuery(query, {}, ()))
    shape = _shape(query, vocabulary)
    reply = llm.complete_json(question(_task(shape, today), query, max_tokens=200), shape)
    if reply.value is None:
        reason = reply.failure or "invalid_json"
        return _by_rules(query, reason, vocabulary=vocabulary, today=today, strict=strict, seconds=reply.seconds)
    try:
        filters = _filters(reply.value)
        parse_filters(filters)
        kept = {key: said for key, value in filters.items() if (said := _said(query, key, value))}
    except (InvalidSettings, UnknownName):
        return _by_rules(query, "invalid", vocabulary=vocabulary, today=today, strict=strict, seconds=reply.seconds)
    dropped = tuple(f"filter=dropped:{key}" for key, value in filters.items() if kept.get(key) != value)
    return FilterReading(FilterQuery(query, kept, ()), dropped, cached=reply.cached, seconds=reply.seconds)


def _by_rules(
    query: str, reason: str, *, vocabulary: Vocabulary, today: date, strict: bool, seconds: float = 0.0
) -> FilterReading:
    if strict:
        raise StageFailed("filter", reason, ADVICE)
    return FilterReading(
        filter_query(query, vocabulary=vocabulary, today=today), (f"filter=rules:{reason}",), seconds=seconds
    )


def _shape(query: str, vocabulary: Vocabulary) -> dict[str, Field]:
    known = {
        "category": vocabulary.categories,
        "author": vocabulary.authors,
        "language": vocabulary.languages,
        "tags": vocabulary.tags,
    }
    lists = {key: Values(offered) for key, values in known.items() if (offered := _offered(query, values))}
    return {**lists, **{day: Text(max_chars=10, empty=True) for day in DAYS}}


def _offered(query: str, values: Sequence[str]) -> tuple[str, ...]:
    if len(values) <= MOST_VALUES:
        return tuple(values)
    words = set(regex.findall(r"\w{3,}", query.casefold()))
    near = [value for value in values if words & set(regex.findall(r"\w{3,}", value.casefold()))]
    return tuple(near[:MOST_VALUES])


def _task(shape: Mapping[str, Field], today: date) -> str:
    lines = []
    for key, field in shape.items():
        if isinstance(field, Values):
            shown = [f"{v} ({LANGUAGES[v][0]})" if key == "language" and v in LANGUAGES else v for v in field.known]
            lines.append(f"{key}: {'; '.join(shown)}")
    return TASK.format(today=today.isoformat(), values="\n".join(lines) + "\n" if lines else "", keys=", ".join(shape))


def _filters(value: Mapping[str, Any]) -> dict[str, Any]:
    """As a caller would write them. Raises InvalidSettings for a day that is none, or a period that ends too early."""
    filters: dict[str, Any] = {key: list(dict.fromkeys(v)) for key, v in value.items() if key not in DAYS and v}
    for key in ("updated", "created"):
        first, last = (value[f"{key}_{end}"].strip() for end in ("from", "to"))
        bounds = {operator: _day(day, key) for operator, day in (("gte", first), ("lte", last)) if day}
        if first and last and bounds["gte"] > bounds["lte"]:
            raise InvalidSettings(f"filter {key!r}: {first} is later than {last}; swap them")
        if bounds:
            filters[key] = bounds
    return filters


def _said(query: str, key: str, value: Any) -> Any:
    """The part of the value that the query says something of; [] or {} where it is nothing."""
    if isinstance(value, Mapping):
        return value if _TIME.search(query) else {}
    asked = set(_analyzer().tokens(query))
    return [v for v in value if asked & set(_analyzer().tokens(" ".join(_names(key, v))))]


def _names(key: str, value: str) -> tuple[str, ...]:
    """A language by its names: its code ("de", "it") is a word of other languages."""
    return LANGUAGES.get(value, (value,)) if key == "language" else (value,)


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    return Analyzer()


def _day(text: str, key: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidSettings(f"filter {key!r}: {text!r} is no day; write one as 2026-03-01") from None
