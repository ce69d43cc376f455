"""Known keys, dates, access lists, and the JSON of everything else."""

import datetime as dt
import json
from typing import Any

import pytest

from rag_pipeline.sources.dates import iso_utc
from rag_pipeline.sources.front_matter import split_front_matter
from rag_pipeline.sources.metadata import Metadata, access_list, as_json, read_metadata


def of(block: str) -> Metadata:
    front = split_front_matter(f"---\n{block}\n---\n")
    assert not front.notice
    return read_metadata(front.values, written=front.written)


def test_every_known_key() -> None:
    found = of(
        "title: Pump\ncategory: guide\nauthor: Ada\nlanguage: DE\nversion: 1.10\ncreated: 2026-03-01\n"
        "updated: 2026-03-02T10:00:00+02:00\ntags: [a, b, a]\naccess: [group:ops, 'user:ada']\ndescription: Short"
    )
    assert found == Metadata(
        title="Pump",
        category="guide",
        author="Ada",
        language="de",
        version="1.10",
        created="2026-03-01T00:00:00Z",
        updated="2026-03-02T08:00:00Z",
        tags=("a", "b"),
        access=("group:ops", "user:ada"),
        description="Short",
    )


def test_other_spellings() -> None:
    found = of(
        "categories: [guide]\nauthors: [Ada, {name: Bo}]\nlang: pt_BR\ndate: 2024\nLast-Modified: 2025-01-02\n"
        "keywords: a, b"
    )
    assert (found.category, found.author, found.language) == ("guide", "Ada, Bo", "pt-br")
    assert (found.created, found.updated, found.tags) == ("2024-01-01T00:00:00Z", "2025-01-02T00:00:00Z", ("a", "b"))
    assert found.extra == {}


def test_several_categories_are_kept_as_extra() -> None:
    found = of("categories: [guide, setup]")
    assert (found.category, found.extra) == ("guide", {"categories": ["guide", "setup"]})


def test_dates_in_a_table() -> None:
    found = of("date: {created: 2024-01-02, updated: 2024-05-06}")
    assert (found.created, found.updated) == ("2024-01-02T00:00:00Z", "2024-05-06T00:00:00Z")


def test_the_language_no_is_not_false() -> None:
    assert of("language: no").language == "no"


def test_unusable_values_become_extra_with_a_notice() -> None:
    found = of("title: [a]\ncreated: soon\nversion: {major: 1}")
    assert (found.title, found.created, found.version) == (None, None, None)
    assert found.extra == {"title": ["a"], "created": "soon", "version": {"major": 1}}
    assert len(found.notices) == 3


def test_empty_values_are_not_stated() -> None:
    assert of("title:\ntags: []\nauthor: ''") == Metadata()


@pytest.mark.parametrize(
    ("value", "entries", "complaint"),
    [
        ([], (), False),
        (["group:ops"], ("group:ops",), False),
        (["user:b", "group:a", "user:b"], ("group:a", "user:b"), False),
        ("group:ops", (), True),
        (None, (), True),
        (True, (), True),
        ({"group": "ops"}, (), True),
        (["ops", "group:ops"], ("group:ops",), True),
        ([{"group": "ops"}], (), True),
        (["group:"], (), True),
        (["everyone"], (), True),
    ],
)
def test_access_list_fails_closed(value: Any, entries: tuple[str, ...], complaint: bool) -> None:
    found, problem = access_list(value)
    assert (found, bool(problem)) == (entries, complaint)


def test_access_in_any_spelling_and_twice() -> None:
    assert of("Access: [group:ops]").access == ("group:ops",)
    assert of("ACCESS:").access == ()
    twice = of("access: [group:ops]\nAccess: [group:all]")
    assert twice.access == ()
    assert "nobody" in twice.notices[0]
    assert of("title: x").access is None


def test_own_values_win_and_an_empty_access_list_is_a_value() -> None:
    base = Metadata(title="base", tags=("t",), access=("group:ops",), extra={"a": 1, "b": 1})
    assert Metadata(title="own", extra={"b": 2}).over(base) == Metadata(
        title="own", tags=("t",), access=("group:ops",), extra={"a": 1, "b": 2}
    )
    assert Metadata(access=()).over(base).access == ()


def test_odd_values_survive_json() -> None:
    found = of(
        "a: 2024-01-02\nb: 2024-01-02T03:04:05Z\nc: .nan\nd: !!binary aGVsbG8=\ne: !!set {x, y}\nf: {1: a, null: b}\n"
        'g: "nul \\0"\nh: 1e400'
    )
    again = json.loads(found.extra_json)
    assert again["a"] == "2024-01-02"
    assert again["b"] == "2024-01-02T03:04:05+00:00"
    assert (again["c"], again["d"], again["e"]) == (None, "5 bytes", ["x", "y"])
    assert again["f"] == {"1": "a", "None": "b"}
    assert again["g"] == "nul "


def test_deep_nesting_is_cut() -> None:
    value: list[Any] = []
    value.append(value)
    assert "nested too deeply" in json.dumps(as_json(value))


def test_lone_surrogates_and_times_survive_json() -> None:
    assert as_json({"\ud800": dt.time(1, 2)}) == {"\ufffd": "01:02:00"}
    json.dumps(as_json(["\ud800"]), ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.date(2026, 3, 1), "2026-03-01T00:00:00Z"),
        (dt.datetime(2026, 3, 1, 12, 30), "2026-03-01T12:30:00Z"),
        (dt.datetime(2026, 3, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2026-02-28T23:00:00Z"),
        ("2026-03-01", "2026-03-01T00:00:00Z"),
        ("2026-03-01T10:00:00.123Z", "2026-03-01T10:00:00Z"),
        ("2026/03/01", "2026-03-01T00:00:00Z"),
        ("01.03.2026", "2026-03-01T00:00:00Z"),
        ("2026-03", "2026-03-01T00:00:00Z"),
        ("March 1, 2026", "2026-03-01T00:00:00Z"),
        ("Sun, 01 Mar 2026 10:00:00 +0100", "2026-03-01T09:00:00Z"),
        (2026, "2026-01-01T00:00:00Z"),
        ("soon", None),
        ("", None),
        (None, None),
        (True, None),
        (20260301, None),
        (dt.time(10), None),
        (["2026"], None),
        (dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14))), None),
    ],
)
def test_dates(value: Any, expected: str | None) -> None:
    assert iso_utc(value) == expected
