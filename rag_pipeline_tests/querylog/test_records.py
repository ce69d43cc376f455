import json
import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.querylog.records import (
    LoggedFeedback,
    LoggedQuery,
    LoggedResult,
    day_of,
    head_of,
    line_of,
    query_record,
    record_of,
)
from rag_pipeline_tests.evaluation.builders import result

AT = datetime(2026, 9, 12, 23, 59, 59, 999_000, tzinfo=UTC)


def test_what_is_recorded_names_passages_and_holds_no_text() -> None:
    found = replace(
        result("a.md#10", "b.md#0"),
        query="how?",
        context="agent",
        markers=("relevance=uncalibrated",),
        timings_ms={"total": 1.23456, "odd": math.nan},
    )
    record = query_record(found, asker="abc", at=AT, filters={"category": "x"})
    assert record.results == (
        LoggedResult(1, "a.md", "a.md#10", 10, 20, 1.0),
        LoggedResult(2, "b.md", "b.md#0", 0, 10, 0.5),
    )
    assert (record.time, record.query_id[:9]) == ("2026-09-12T23:59:59.999Z", "20260912-")
    assert (record.timings_ms, record.filters) == ({"total": 1.235}, {"category": "x"})
    assert (record.context, record.markers, record.release_id) == ("agent", ("relevance=uncalibrated",), "r1")
    assert query_record(found, asker="abc", at=AT).query_id != record.query_id
    said = json.loads(line_of(record))
    assert set(said) >= {"kind", "v", "query", "results", "timings_ms"}
    assert "content" not in line_of(record).decode() and "title" not in line_of(record).decode()


def test_a_score_that_is_no_number_is_none() -> None:
    found = result("a.md#0")
    found = replace(found, hits=(replace(found.hits[0], score=math.nan),))
    assert query_record(found, asker="a", at=AT).results[0].score is None


@given(
    st.text(st.characters(exclude_categories=[])),
    st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.lists(st.text()))),
)
def test_every_record_is_one_line_that_reads_back(text: str, filters: dict[str, object]) -> None:
    record = query_record(replace(result("a.md#0"), query=text), asker="a", at=AT, filters=filters)
    line = line_of(record)
    assert line.count(b"\n") == 1 and line.endswith(b"\n") and line.startswith(head_of(record.query_id))
    again = record_of(line)
    assert isinstance(again, LoggedQuery) and again.results == record.results
    if not any("\ud800" <= c <= "\udfff" for c in text + json.dumps(filters, ensure_ascii=False)):
        assert again == record


def test_no_text_can_pass_for_the_head_of_a_record() -> None:
    """A question that quotes a record must not be found in place of it."""
    victim = f"20260912-{'0' * 32}"
    record = query_record(replace(result(), query=head_of(victim).decode()), asker="a", at=AT)
    assert head_of(victim) not in line_of(record)


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"{", b"[]", b"7", b"\xff\xfe"),
        *(
            b'{"v":1}',
            b'{"v":2,"kind":"query"}',
            b'{"v":1,"kind":"query"}',
            b'{"v":1,"kind":"x"}',
            b'{"v":1,"kind":[]}',
        ),
        b'{"v":1,"kind":"feedback","query_id":"q","time":"t","rating":"great"}',
    ],
)
def test_what_is_no_record_is_none(line: bytes) -> None:
    assert record_of(line) is None


def test_feedback_reads_back() -> None:
    said = LoggedFeedback(f"20260912-{'a' * 32}", "t", "useful", 2, "the second\nline")
    assert record_of(line_of(said)) == said


@pytest.mark.parametrize("query_id", ["", "20260912", f"20261332-{'0' * 32}", f"20260912-{'G' * 32}", "../../x"])
def test_what_is_no_id_has_no_day(query_id: str) -> None:
    assert day_of(query_id) is None


def test_the_day_is_in_the_id() -> None:
    day = day_of(f"20260912-{'0' * 32}")
    assert day is not None and day.isoformat() == "2026-09-12"
