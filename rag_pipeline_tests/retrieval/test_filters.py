from datetime import UTC, date, datetime
from typing import Any

import pytest

from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.retrieval.filters import KEYS, parse_filters


def day(n: int) -> datetime:
    return datetime(2026, 3, n)


@pytest.mark.parametrize("key", ["a' OR 1=1 --", "access", "doc_id", "text", "h7", "", "Category"])
def test_unknown_keys_name_the_allowed_ones(key: str) -> None:
    with pytest.raises(UnknownName, match="known: author, category, created"):
        parse_filters({key: "x"})


@pytest.mark.parametrize("key", KEYS)
def test_unknown_operators_name_the_allowed_ones(key: str) -> None:
    with pytest.raises(UnknownName, match=r"unknown operator 'like'.*known: in"):
        parse_filters({key: {"like": "x"}})


def test_dates_have_no_contains_and_texts_no_bounds() -> None:
    for bad in ({"created": {"contains": "2026"}}, {"title": {"gte": "a"}}):
        with pytest.raises(UnknownName):
            parse_filters(bad)


@pytest.mark.parametrize("value", ["'; DROP TABLE chunks; --", "x' OR '1'='1", "%", "\ud800"])
def test_values_are_bound_never_written_into_the_condition(value: str) -> None:
    for key in (k for k in KEYS if k not in ("created", "updated")):
        for condition in parse_filters({key: value}) + parse_filters({key: {"contains": value}}):
            assert value not in condition.sql
            assert condition.sql.count("?") == len(condition.values)


@pytest.mark.parametrize(
    ("operator", "value", "sql", "bound"),
    [
        ("gte", "2026-03-01", "d.updated >= ?", day(1)),
        ("gt", "2026-03-01", "d.updated >= ?", day(2)),
        ("lte", "2026-03-01", "d.updated < ?", day(2)),
        ("lt", "2026-03-01", "d.updated < ?", day(1)),
        ("lt", "2026-03-01T12:00:00Z", "d.updated < ?", datetime(2026, 3, 1, 12)),
        ("gte", "2026-03-01T01:00:00+02:00", "d.updated >= ?", datetime(2026, 2, 28, 23)),
        ("lte", "2026-03-01T12:00:00", "d.updated < ?", datetime(2026, 3, 1, 12, 0, 0, 1)),
        ("gte", date(2026, 3, 1), "d.updated >= ?", day(1)),
        ("gte", datetime(2026, 3, 1, 12, tzinfo=UTC), "d.updated >= ?", datetime(2026, 3, 1, 12)),
    ],
)
def test_a_date_is_a_whole_day_in_utc(operator: str, value: Any, sql: str, bound: datetime) -> None:
    (condition,) = parse_filters({"updated": {operator: value}})
    assert (condition.sql, condition.values) == (sql, (bound,))


def test_a_plain_date_is_that_day() -> None:
    (condition,) = parse_filters({"created": "2026-03-01"})
    assert condition.values == (day(1), day(2))
    (condition,) = parse_filters({"created": ["2026-03-01", "2026-03-03"]})
    assert condition.values == (day(1), day(2), day(3), day(4))


@pytest.mark.parametrize(
    "filters",
    [
        {"updated": "yesterday"},
        {"updated": {"gte": "2026-02-30"}},
        {"updated": {"gte": None}},
        {"updated": {"gte": "9999-12-31"}},
        {"category": None},
        {"category": {}},
        {"category": ["a", 1.5]},
        {"tags": [["a"]]},
    ],
)
def test_values_that_cannot_be_used(filters: dict[str, Any]) -> None:
    with pytest.raises(InvalidSettings, match=next(iter(filters))):
        parse_filters(filters)
