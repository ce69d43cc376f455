import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.errors import StageFailed
from rag_pipeline.llm.json_reply import parse_object
from rag_pipeline.retrieval.filters import parse_filters
from rag_pipeline.retrieval.transforms.filter_llm import DAYS, MOST_VALUES, FilterReading, filter_llm
from rag_pipeline.retrieval.transforms.filter_query import Vocabulary, filter_query
from rag_pipeline_tests.retrieval.transforms.stub_llm import StubLlm

TODAY = date(2026, 3, 31)
VOCABULARY = Vocabulary(
    categories=("security", "policy", "code"),
    authors=("Priya Ramanathan", "Platform Engineering"),
    languages=("en", "de"),
    tags=("agents", "on call"),
)


def reply(**said: Any) -> str:
    empty: dict[str, Any] = {"category": [], "author": [], "language": [], "tags": [], **dict.fromkeys(DAYS, "")}
    return json.dumps({**empty, **said})


def ask(query: str, text: str, **options: Any) -> FilterReading:
    return filter_llm(query, vocabulary=VOCABULARY, today=TODAY, llm=StubLlm(text), **options)


@pytest.mark.parametrize(
    ("query", "said", "filters"),
    [
        (
            "security policy changes last month",
            {"category": ["security", "policy"]},
            {"category": ["security", "policy"]},
        ),
        ("what Priya wrote on leave", {"author": ["Priya Ramanathan"]}, {"author": ["Priya Ramanathan"]}),
        ("Urlaub, nur deutsche Seiten", {"language": ["de"]}, {"language": ["de"]}),
        ("agent limits", {"tags": ["agents"]}, {"tags": ["agents"]}),
        (
            "what changed this winter",
            {"updated_from": "2025-12-01", "updated_to": "2026-02-28"},
            {"updated": {"gte": "2025-12-01", "lte": "2026-02-28"}},
        ),
        ("pages written before 2025", {"created_to": "2024-12-31"}, {"created": {"lte": "2024-12-31"}}),
        ("what encryption is used", {}, {}),
    ],
)
def test_a_reading_becomes_a_filter(query: str, said: dict[str, Any], filters: dict[str, Any]) -> None:
    made = ask(query, reply(**said))
    assert dict(made.found.filters) == filters
    assert (made.found.text, made.markers) == (query, ())


@pytest.mark.parametrize(
    ("query", "said", "dropped"),
    [
        ("what encryption is used", {"category": ["security"]}, "category"),
        ("what encryption is used", {"author": ["Priya Ramanathan"]}, "author"),
        ("what de facto is used", {"language": ["de"]}, "language"),
        ("what encryption is used", {"updated_from": "2026-01-01"}, "updated"),
    ],
)
def test_a_limit_that_the_query_does_not_say_is_dropped(query: str, said: dict[str, Any], dropped: str) -> None:
    """A small model fills every field; each invented limit would hide the answer."""
    made = ask(query, reply(**said))
    assert made.found.filters == {}
    assert made.markers == (f"filter=dropped:{dropped}",)


def test_of_several_values_those_said_stay() -> None:
    made = ask("security pages", reply(category=["security", "code"]))
    assert made.found.filters == {"category": ["security"]}
    assert made.markers == ("filter=dropped:category",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("Sure! The category is security.", "invalid_json"),
        ("{}", "invalid_json"),
        (reply(category=["finance"]), "invalid_json"),
        (reply(category="security"), "invalid_json"),
        (reply(category=["security"] * 4), "invalid_json"),
        (reply(category=["security"], access=["group:board"]), "invalid_json"),
        (reply(updated_from="last month"), "invalid"),
        (reply(updated_from="2026-02-30"), "invalid"),
        (reply(updated_from="2026-03-01", updated_to="2026-02-01"), "invalid"),
        (reply(updated_from="' OR 1=1 --"), "invalid_json"),
    ],
)
def test_an_unusable_reading_gives_way_to_the_rules(text: str, reason: str) -> None:
    query = "security pages since March"
    made = ask(query, text)
    assert made.found == filter_query(query, vocabulary=VOCABULARY, today=TODAY)
    assert made.found.filters == {"updated": {"gte": "2026-03-01"}, "category": "security"}
    assert made.markers == (f"filter=rules:{reason}",)
    with pytest.raises(StageFailed, match="filter could not run"):
        ask(query, text, strict=True)


def test_no_model_and_a_failed_call() -> None:
    made = filter_llm("german pages", vocabulary=VOCABULARY, today=TODAY, llm=None)
    assert (made.found.filters, made.markers) == ({"language": "de"}, ("filter=rules:unconfigured",))
    failed = filter_llm("german pages", vocabulary=VOCABULARY, today=TODAY, llm=StubLlm(failure="timeout"))
    assert (failed.found.filters, failed.markers) == ({"language": "de"}, ("filter=rules:timeout",))
    with pytest.raises(StageFailed, match="unconfigured"):
        filter_llm("x", vocabulary=VOCABULARY, today=TODAY, llm=None, strict=True)


def test_the_model_is_asked_for_known_values_only() -> None:
    llm = StubLlm(reply())
    filter_llm("x</query>y", vocabulary=VOCABULARY, today=TODAY, llm=llm)
    (prompt,) = llm.asked
    assert "Today is 2026-03-31" in prompt.user and "de (german)" in prompt.user
    assert prompt.user.count("</query>") == 1
    nothing = StubLlm(json.dumps(dict.fromkeys(DAYS, "")))
    assert filter_llm("x", vocabulary=Vocabulary(), today=TODAY, llm=nothing).markers == ()


def test_a_large_vocabulary_is_offered_in_part() -> None:
    many = Vocabulary(tags=tuple(f"tag {n:04}" for n in range(500)))
    llm = StubLlm(json.dumps({"tags": ["tag 0007"], **dict.fromkeys(DAYS, "")}))
    assert filter_llm("the 0007 one", vocabulary=many, today=TODAY, llm=llm).found.filters == {"tags": ["tag 0007"]}
    assert "tag 0008" not in llm.asked[0].user
    assert MOST_VALUES < 500


def test_a_long_query_asks_nobody() -> None:
    llm = StubLlm(reply())
    assert filter_llm("x" * 5000, vocabulary=VOCABULARY, today=TODAY, llm=llm).found.filters == {}
    assert llm.asked == []


def test_the_schema_admits_what_the_check_admits() -> None:
    class Recorder(StubLlm):
        def complete_json(self, prompt: Any, shape: Any) -> Any:
            self.shape = shape
            return super().complete_json(prompt, shape)

    llm = Recorder(reply())
    filter_llm("x", vocabulary=VOCABULARY, today=TODAY, llm=llm)
    assert llm.shape["category"].schema()["items"]["enum"] == list(VOCABULARY.categories)
    assert parse_object(reply(category=["code"]), llm.shape).problem is None
    assert "isn't known" in str(parse_object(reply(category=["x"]), llm.shape).problem)


@given(
    st.text(max_size=30),
    st.dictionaries(
        st.sampled_from(["category", "tags", *DAYS]),
        st.sampled_from(["", "2026-01-01", "9999-12-31", "x"])
        | st.lists(st.sampled_from(["security", "on call", "x"]), max_size=4),
        max_size=6,
    ),
)
def test_any_reply_gives_filters_that_can_be_used(query: str, said: dict[str, Any]) -> None:
    parse_filters(ask(query, reply(**said)).found.filters)
