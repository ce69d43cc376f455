import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.evaluation.quote import occurrences


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("a cat sat", "cat", ((2, 5),)),
        ("a cat, a cat", "cat", ((2, 5), (9, 12))),
        ("aaa", "aa", ((0, 2), (1, 3))),  # overlapping ones count
        ("a\n  cat\tsat", "a cat sat", ((0, 11),)),
        ("a cat\na  cat", "a cat", ((0, 5),)),  # an exact match comes before those that differ in white space
        ("a  cat\na   cat", "a cat", ((0, 6), (7, 14))),
        ("x (a.b) y", "(a.b)", ((2, 7),)),
        ("x (aXb) y", "(a.b)", ()),
        ("a cat", "dog", ()),
        ("a cat", "  ", ()),
        ("a cat", " cat ", ((2, 5),)),
    ],
)
def test_occurrences(text, quote, expected):
    assert occurrences(text, quote) == expected


@given(st.text(max_size=20), st.text(alphabet="ab \n", min_size=1, max_size=10), st.text(max_size=20))
def test_every_span_reads_as_the_quote(before, quote, after):
    text = before + quote + after
    found = occurrences(text, quote)
    assert bool(found) == bool(quote.strip())
    for start, end in found:
        assert text[start:end].split() == quote.split()
