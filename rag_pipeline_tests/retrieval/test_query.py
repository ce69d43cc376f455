import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.errors import InvalidQuery
from rag_pipeline.retrieval.query import MAX_CHARACTERS, normalise


@pytest.mark.parametrize(
    "query", ["", " \t", "\u200b", "\n", "\x00\x07", "\u00ad", "\ufeff", "\ud800", "\u3164", None, 3]
)
def test_nothing_to_search_for(query: str) -> None:
    with pytest.raises(InvalidQuery):
        normalise(query)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("  pump \n", "pump"),
        ("a\x00b", "ab"),
        ("ok \ud800", "ok \ufffd"),
        ("?!… --", "?!… --"),
        ("'; DROP TABLE c; --", "'; DROP TABLE c; --"),
        ("cafe\u0301", "cafe\u0301"),
    ],
)
def test_text(query: str, text: str) -> None:
    assert normalise(query).text == text
    assert normalise(query).markers == ()


def test_a_very_long_query_is_cut_and_says_so() -> None:
    query = normalise("word " * 50_000)
    assert len(query.text) == MAX_CHARACTERS
    assert query.markers == ("query=truncated",)
    assert normalise("x" * MAX_CHARACTERS + "   ").markers == ()


@given(st.text())
def test_any_text_is_a_query_or_refused(text: str) -> None:
    try:
        query = normalise(text)
    except InvalidQuery:
        return
    assert query.text.strip()
    query.text.encode("utf-8")
