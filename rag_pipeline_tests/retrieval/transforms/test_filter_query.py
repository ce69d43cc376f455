import time
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.retrieval.filters import parse_filters
from rag_pipeline.retrieval.transforms.filter_query import FilterQuery, Vocabulary, filter_query

TODAY = date(2026, 3, 31)  # a Tuesday
VOCABULARY = Vocabulary(
    categories=("security", "policy", "code", "guide"),
    authors=("Priya Ramanathan", "Platform Engineering", "Ines Halvorsen", "Ines Castro"),
    languages=("en", "de", "fr"),
    tags=("agents", "billing", "on call"),
)


def ask(query: str, *, today: date = TODAY, vocabulary: Vocabulary = VOCABULARY) -> FilterQuery:
    return filter_query(query, vocabulary=vocabulary, today=today)


@pytest.mark.parametrize(
    ("query", "text", "filters"),
    [
        (
            "security policy changes last month",
            "security policy changes",
            {"updated": {"gte": "2026-02-01", "lte": "2026-02-28"}, "category": ["security", "policy"]},
        ),
        ("german pages about vacation", "about vacation", {"language": "de"}),
        ("leave rules in French", "leave rules", {"language": "fr"}),
        ("Seiten auf Deutsch Urlaub", "Urlaub", {"language": "de"}),
        ("docs by Priya tagged billing", "docs", {"tags": "billing", "author": "Priya Ramanathan"}),
        ("runbooks written by platform engineering", "runbooks", {"author": "Platform Engineering"}),
        ("rota tagged on call", "rota", {"tags": "on call"}),
        ("category:security encryption", "encryption", {"category": "security"}),
        ('tag="on call" rota', "rota", {"tags": "on call"}),
        ("encryption in the security category", "encryption", {"category": "security"}),
        ("tagged agents tagged billing limits", "limits", {"tags": ["agents", "billing"]}),
        ("security docs about keys", "security docs about keys", {"category": "security"}),
        ("how do I rotate keys since yesterday?", "how do I rotate keys?", {"updated": {"gte": "2026-03-30"}}),
    ],
)
def test_a_filter_in_words(query: str, text: str, filters: dict[str, Any]) -> None:
    found = ask(query)
    assert (found.text, dict(found.filters)) == (text, filters)


def days(low: str | None = None, high: str | None = None, **more: str) -> dict[str, str]:
    return {**({"gte": low} if low else {}), **({"lte": high} if high else {}), **more}


@pytest.mark.parametrize(
    ("phrase", "bounds"),
    [
        ("since 2026-03", days("2026-03-01")),
        ("since 2026-03-15", days("2026-03-15")),
        ("since March", days("2026-03-01")),
        ("since April", days("2025-04-01")),
        ("since 1 March 2026", days("2026-03-01")),
        ("since March 1st, 2026", days("2026-03-01")),
        ("after 2026-02", days(gt="2026-02-28")),
        ("before 2026-03-01", days(lt="2026-03-01")),
        ("until last year", days(high="2025-12-31")),
        ("last week", days("2026-03-23", "2026-03-29")),
        ("this week", days("2026-03-30", "2026-04-05")),
        ("in the last month", days("2026-02-01", "2026-02-28")),
        ("last quarter", days("2025-10-01", "2025-12-31")),
        ("this quarter", days("2026-01-01", "2026-03-31")),
        ("last year", days("2025-01-01", "2025-12-31")),
        ("in the past 7 days", days("2026-03-24", "2026-03-31")),
        ("in the last 1 month", days("2026-02-28", "2026-03-31")),
        ("during the last 2 years", days("2024-03-31", "2026-03-31")),
        ("between March and May 2025", None),
        ("between 2025-11 and 2026-01", days("2025-11-01", "2026-01-31")),
        ("from Q3 2025 to Q4 2025", days("2025-07-01", "2025-12-31")),
        ("changed in 2025", days("2025-01-01", "2025-12-31")),
        ("yesterday", days("2026-03-30", "2026-03-30")),
    ],
)
def test_periods(phrase: str, bounds: dict[str, str] | None) -> None:
    if bounds is None:  # March is this year's, so the period would end before it begins
        assert ask(f"runbooks {phrase}").filters == {}
    else:
        assert ask(f"runbooks {phrase}").filters == {"updated": bounds}


def test_written_is_created_and_anything_else_is_updated() -> None:
    assert ask("pages written since 2026-01").filters == {"created": {"gte": "2026-01-01"}}
    assert ask("pages since 2026-01").filters == {"updated": {"gte": "2026-01-01"}}


def test_borders_of_the_year_and_of_february() -> None:
    assert ask("x last month", today=date(2026, 1, 15)).filters == {"updated": days("2025-12-01", "2025-12-31")}
    assert ask("x last month", today=date(2024, 3, 1)).filters == {"updated": days("2024-02-01", "2024-02-29")}
    assert ask("x in the last 1 year", today=date(2024, 2, 29)).filters == {"updated": days("2023-02-28", "2024-02-29")}


@pytest.mark.parametrize(
    "query",
    [
        "security",
        "what encryption is used",
        "policy changes",
        "what happens after 30 days",
        "how to use C++ in 2026",
        "since 2026-02-31",
        "since 2026-13",
        "klingon pages",
        "italian pages",
        "tagged nonsense",
        "docs by Ines",
        "docs by nobody",
        "category:finance budget",
        "how to get in",
        "ratio 3:4",
        "last of the agents",
        "",
        " ?",
    ],
)
def test_what_names_no_known_value_stays_a_question(query: str) -> None:
    found = ask(query)
    assert (found.filters, found.understood) == ({}, ())
    assert found.text == query.strip()


def test_only_values_of_the_vocabulary() -> None:
    assert ask("german pages by Priya tagged billing", vocabulary=Vocabulary()).filters == {}
    assert ask("GERMAN pages", vocabulary=Vocabulary(languages=("DE",))).filters == {"language": "DE"}


def test_nothing_left_to_search_for_keeps_the_query() -> None:
    assert ask("german pages").text == "german pages"
    assert ask("since 2026-03").text == "since 2026-03"


def test_what_was_understood_is_shown_in_order() -> None:
    assert ask("german pages since March tagged billing").understood == (
        "german pages",
        "since March",
        "tagged billing",
    )


@given(st.text(alphabet="abin 0123456789-:=\"'tgsecurity\n\u6771", max_size=80))
def test_any_query_gives_filters_that_can_be_used(query: str) -> None:
    parse_filters(ask(query).filters)


PIECES = """last past this since between and from to in the month months week 3 99999 2026 2026-03 march may 1 31 q4
german pages security policy changes tagged by Priya on call category:security tag: updated"""


@given(
    st.lists(
        st.sampled_from(PIECES.split()),
        max_size=14,
    ),
    st.dates(date(1, 1, 1), date(9999, 12, 31)),
)
def test_any_words_on_any_day(words: list[str], today: date) -> None:
    found = ask(" ".join(words), today=today)
    parse_filters(found.filters)
    assert found.text or not words


@pytest.mark.parametrize("piece", ["in ", "a ", "changed ", "in last ", "((", "1 may ", "page ", "tag: ", "by the "])
def test_a_hostile_query_takes_no_time(piece: str) -> None:
    started = time.monotonic()
    ask(piece * (999 // len(piece)))
    ask(piece * 50_000)
    assert time.monotonic() - started < 3
