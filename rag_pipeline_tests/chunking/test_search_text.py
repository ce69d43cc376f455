from rag_pipeline.chunking.search_text import Prefixes, cut_tokens, prefix_line, search_text
from rag_pipeline_tests.chunking.support import WORDS


def test_title_and_path_are_joined() -> None:
    assert prefix_line("Guide", ["Setup", "Linux"], WORDS, cap=48) == "Guide > Setup > Linux"


def test_a_first_heading_equal_to_the_title_is_not_repeated() -> None:
    assert prefix_line("Guide", ["GUIDE", "Linux"], WORDS, cap=48) == "Guide > Linux"


def test_middle_levels_go_first() -> None:
    assert (
        prefix_line("Guide", ["one two three", "four five six", "Linux"], WORDS, cap=9)
        == "Guide > four five six > Linux"
    )
    assert prefix_line("Guide", ["one two three", "four five six", "Linux"], WORDS, cap=4) == "Guide > Linux"


def test_then_the_title_is_cut_and_then_the_rest() -> None:
    assert prefix_line("a b c d e f", ["x y"], WORDS, cap=6) == "a b > x y"
    assert prefix_line("a b c d e f", [], WORDS, cap=3) == "a b c"
    assert prefix_line("a", ["x"], WORDS, cap=0) == ""


def test_prefixes_are_counted() -> None:
    assert Prefixes("A  long\ntitle", WORDS, cap=48).of(((2, "Part"),)) == ("A long title > Part", 5)


def test_cut_tokens() -> None:
    assert cut_tokens("one two, three", WORDS, 3) == "one two,"
    assert cut_tokens("one", WORDS, 3) == "one"
    assert cut_tokens("one", WORDS, 0) == ""


def test_search_text() -> None:
    assert search_text("Guide > A", "|h|\n|-|\n", "|1|") == "Guide > A\n|h|\n|-|\n|1|"
    assert search_text("", "", "text") == "text"
