from rag_pipeline.chunking.lines import line_start, line_starts, trimmed


def test_line_starts_end_as_in_commonmark() -> None:
    assert line_starts("a\nb\r\nc\rd") == [0, 2, 5, 7, 8]
    assert line_starts("a\n") == [0, 2]
    assert line_starts("xx\na\nb", start=3, end=5) == [3, 5]
    # A line separator of Unicode ends no line here.
    assert line_starts("a\u2028b") == [0, 3]


def test_line_start() -> None:
    assert line_start("ab\ncd", 4) == 3
    assert line_start("ab\ncd", 1) == 0
    assert line_start("ab\ncd", 2, low=1) == 1


def test_trimmed_keeps_the_first_lines_indentation() -> None:
    text = "\n \n  code  \n\n"
    assert trimmed(text, 0, len(text)) == (3, 9)


def test_trimmed_in_the_middle_of_a_line() -> None:
    assert trimmed("word  next ", 4, 11) == (6, 10)


def test_nothing_is_left_of_white_space() -> None:
    assert trimmed("a \n\n b", 1, 4) == (1, 1)
