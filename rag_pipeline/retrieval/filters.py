"""Filters as a caller writes them to SQL conditions with bound values. No I/O; access is `scope.py`'s.

{"category": "security"}                      equal
{"tags": ["agents", "tools"]}                 any of; the same as {"tags": {"in": [...]}}
{"title": {"contains": "pump"}}               part of the text, case ignored; for tags: has the tag
{"updated": {"gte": "2026-01-01"}}            UTC; a date without a time is that whole day, both ends included
{"h2": "Install"}, {"headers": "Install"}     a heading of one level, or of any
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.settings.base import suggestion
from rag_pipeline.text.repair import repair_text


@dataclass(frozen=True, slots=True)
class Condition:
    table: Literal["documents", "chunks"]
    sql: str
    """With one `?` for each of `values`; `d` is the document, `c` the chunk."""
    values: tuple[Any, ...]


TEXTS: Mapping[str, tuple[Literal["documents", "chunks"], str]] = {
    "source": ("documents", "d.doc_id"),
    "category": ("documents", "d.category"),
    "author": ("documents", "d.author"),
    "language": ("documents", "d.language"),
    "version": ("documents", "d.version"),
    "title": ("documents", "d.title"),
    "format": ("documents", "d.format"),
    "kind": ("chunks", "c.kind"),
    **{f"h{n}": ("chunks", f"json_extract_string(c.headers, '$.h{n}')") for n in range(1, 7)},
}
LISTS: Mapping[str, tuple[Literal["documents", "chunks"], str]] = {
    "tags": ("documents", "d.tags"),
    "headers": ("chunks", "json_extract_string(c.headers, '$.*')"),
}
DATES: Mapping[str, str] = {"created": "d.created", "updated": "d.updated"}
KEYS = tuple(sorted([*TEXTS, *LISTS, *DATES]))


def parse_filters(filters: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Raises UnknownName for a key or operator that is not allowed, InvalidSettings for a value."""
    return tuple(condition for key, value in filters.items() for condition in _conditions(key, value))


def _conditions(key: str, value: Any) -> Iterator[Condition]:
    if key in TEXTS:
        table, column = TEXTS[key]
        operators = {"in": _any_text, "contains": _part_of_text}
    elif key in LISTS:
        table, column = LISTS[key]
        operators = {"in": _any_of_list, "contains": _in_list}
    elif key in DATES:
        table, column = "documents", DATES[key]
        operators = {"in": _any_day, **_BOUNDS}
    else:
        raise UnknownName(f"unknown filter {key!r}{suggestion(str(key), KEYS)}; known: {', '.join(KEYS)}")
    if not isinstance(value, Mapping):
        value = {"in": value}
    if not value:
        raise InvalidSettings(f"filter {key!r} has no operator; known: {', '.join(operators)}")
    for operator, operand in value.items():
        if operator not in operators:
            raise UnknownName(
                f"filter {key!r}: unknown operator {operator!r}{suggestion(str(operator), operators)};"
                f" known: {', '.join(operators)}"
            )
        sql, values = operators[operator](column, operand, key)
        yield Condition(table, sql, values)


Made = tuple[str, tuple[Any, ...]]


def _any_text(column: str, operand: Any, key: str) -> Made:
    return f"list_contains(?::VARCHAR[], {column})", (_texts(operand, key),)


def _part_of_text(column: str, operand: Any, key: str) -> Made:
    return f"contains(lower({column}), lower(?))", (_text(operand, key),)


def _any_of_list(column: str, operand: Any, key: str) -> Made:
    return f"list_has_any({column}, ?::VARCHAR[])", (_texts(operand, key),)


def _in_list(column: str, operand: Any, key: str) -> Made:
    return f"list_contains({column}, ?)", (_text(operand, key),)


def _any_day(column: str, operand: Any, key: str) -> Made:
    spans = [
        _span(value, key) for value in (operand if isinstance(operand, (list, tuple, set, frozenset)) else [operand])
    ]
    sql = " OR ".join([f"({column} >= ? AND {column} < ?)"] * len(spans)) or "false"
    return sql, tuple(bound for span in spans for bound in span)


def _bound(operator: str, end: int) -> Callable[[str, Any, str], Made]:
    return lambda column, operand, key: (f"{column} {operator} ?", (_span(operand, key)[end],))


# A value covers [first, behind): a day, or one instant of a microsecond.
_BOUNDS: Mapping[str, Callable[[str, Any, str], Made]] = {
    "gte": _bound(">=", 0),
    "gt": _bound(">=", 1),
    "lte": _bound("<", 1),
    "lt": _bound("<", 0),
}


def _span(value: Any, key: str) -> tuple[datetime, datetime]:
    """Naive UTC, half-open."""
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(value, str) and len(value) <= 10:
            parsed = date.fromisoformat(value)
        if isinstance(parsed, datetime):
            first = parsed.astimezone(UTC).replace(tzinfo=None) if parsed.tzinfo else parsed
            return first, first + timedelta(microseconds=1)
        if isinstance(parsed, date):
            first = datetime.combine(parsed, time())
            return first, first + timedelta(days=1)
    except (ValueError, OverflowError):
        pass
    raise InvalidSettings(f"filter {key!r}: {value!r} is not a date; write one as 2026-03-01 or 2026-03-01T12:00:00Z")


def _texts(operand: Any, key: str) -> list[str]:
    several = isinstance(operand, (list, tuple, set, frozenset))
    return [_text(value, key) for value in (operand if several else [operand])]


def _text(value: Any, key: str) -> str:
    if isinstance(value, str):
        return repair_text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidSettings(f"filter {key!r}: {value!r} is not text; write a string or a list of strings")
