import pytest

from rag_pipeline.chunking.graphemes import REACH, safe_cut

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("abc def", 3, 3),
        ("ab" + FAMILY + "cd", 4, 2),
        ("cafe\u0301 x", 4, 3),
        ("a\r\nb", 2, 1),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 1, 2),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 3, 2),
        ("東京大学", 2, 2),
    ],
)
def test_cuts_move_to_a_border(text: str, position: int, expected: int) -> None:
    assert safe_cut(text, position, low=0, high=len(text)) == expected


def test_a_cluster_at_the_start_is_passed_over() -> None:
    assert safe_cut(FAMILY + "x", 2, low=0, high=6) == 5


def test_a_cluster_that_fills_the_span_is_cut() -> None:
    assert safe_cut(FAMILY, 2, low=0, high=5) == 2


def test_marks_without_end_are_cut() -> None:
    text = "e" + "\u0301" * 500
    assert safe_cut(text, 200, low=0, high=len(text)) == 200
    assert REACH < 200


def test_ends_stay() -> None:
    assert safe_cut("abc", 0, low=0, high=3) == 0
    assert safe_cut("abc", 3, low=0, high=3) == 3
