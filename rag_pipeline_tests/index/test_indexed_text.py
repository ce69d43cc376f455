import pytest

from rag_pipeline.index.indexed_text import MARK, indexed_text

LONG = "words of a long paragraph " * 10


@pytest.mark.parametrize(
    ("search_text", "content", "expected"),
    [
        ("Pump\n\nmoves oil", "moves oil", "Pump\n\nmoves oil"),
        ("Pump\n\n" + LONG[:100], LONG, "Pump\n\n" + LONG),
        ("Pump\n\n" + LONG[:MARK], LONG, "Pump\n\n" + LONG),
        ("Pump", LONG, "Pump\n" + LONG),
        ("Pump", "", "Pump"),
    ],
)
def test_what_was_cut_off_is_indexed(search_text: str, content: str, expected: str) -> None:
    assert indexed_text(search_text, content) == expected
