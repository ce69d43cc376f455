import pytest

from rag_pipeline.chunking.langchain_split import PROSE, _usable, separators, split_span
from rag_pipeline_tests.chunking.support import WORDS, assert_sound, chunk, document, texts

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


def test_text_is_equal_to_its_span() -> None:
    text = "# A\n```make\nall:\n\tcc\u00a0x\n```\n- a\n  - b"
    source = document(text)
    made = chunk(source)
    assert texts(made) == [text]
    assert_sound(source, made, limit=256)


def test_long_tables_are_cut_between_rows_and_repeat_their_header() -> None:
    head = "| a | b | c |\n|---|---|---|\n"
    rows = [f"| r{i} | x{i} | y{i} |\n" for i in range(200)]
    source = document("## Torque\n\n" + head + "".join(rows))
    made = chunk(source, child_tokens=150, section_tokens=500, prefix_tokens=8)
    assert_sound(source, made, limit=256)
    assert len(made.chunks) > 5
    assert made.chunks[0].lead == ""
    assert made.chunks[0].text.startswith("## Torque\n\n| a |")
    for c in made.chunks[1:]:
        assert c.lead == head
        assert c.search_text == f"Doc > Torque\n{head}{c.text}"
        assert c.text.startswith("| r")
        assert c.text.endswith("|")
        assert c.kind == "table"
    assert "".join(c.text + "\n" for c in made.chunks).count("| r") == 200
    assert {s.headers for s in made.sections} == {((2, "Torque"),)}


def test_a_header_too_long_to_repeat_is_not() -> None:
    head = "| " + " | ".join(f"column number {i}" for i in range(12)) + " |\n|" + "-|" * 12 + "\n"
    rows = "".join("| " + " | ".join("1" for _ in range(12)) + " |\n" for _ in range(20))
    source = document(head + rows)
    made = chunk(source, child_tokens=60, section_tokens=600)
    assert {c.lead for c in made.chunks} == {""}
    assert_sound(source, made, limit=256)


def test_a_row_over_the_size_is_cut_within() -> None:
    source = document("|a|b|\n|-|-|\n|" + "many words " * 100 + "|x|\n|1|2|\n")
    made = chunk(source, child_tokens=40)
    assert len(made.chunks) > 4
    assert_sound(source, made, limit=256)


def test_a_fence_that_fits_is_never_cut() -> None:
    fence = "```sh\n" + "".join(f"step {i}\n\n" for i in range(20)) + "```"
    source = document(("words before it " * 5 + "\n\n" + fence + "\n\n") * 6)
    made = chunk(source, child_tokens=60)
    assert sum(c.text.count(fence) for c in made.chunks) == 6
    assert_sound(source, made, limit=256)


def test_a_fence_inside_a_long_list_stays_whole() -> None:
    item = "- do this\n\n  ```sh\n  first line\n\n  second line\n  ```\n\n  and that too\n"
    source = document(item * 20)
    made = chunk(source, child_tokens=40)
    assert len(made.chunks) > 5
    assert all(c.text.count("```") % 2 == 0 for c in made.chunks)
    assert_sound(source, made, limit=256)


def test_a_fence_inside_an_admonition_stays_whole() -> None:
    text = "!!! note\n\n" + "    Some words.\n\n    ```py\n    a = 1\n\n    b = 2\n    ```\n\n" * 12
    source = document(text)
    made = chunk(source, child_tokens=40)
    assert len(made.chunks) > 3
    assert all(c.text.count("```") % 2 == 0 for c in made.chunks)
    assert_sound(source, made, limit=256)


def test_an_oversize_fence_is_cut_at_lines() -> None:
    source = document("```\n" + "".join(f"line number {i} here\n" for i in range(100)) + "```\n")
    made = chunk(source, child_tokens=40)
    assert all(c.text.splitlines()[0].startswith(("line number", "```")) for c in made.chunks)
    assert all(c.kind == "code" for c in made.chunks)
    assert_sound(source, made, limit=256)


def test_lists_are_cut_between_items() -> None:
    source = document("".join(f"- item {i} has a first line\n  and a second one\n" for i in range(30)))
    made = chunk(source, child_tokens=50)
    assert all(c.text.startswith("- item") for c in made.chunks)
    assert all(c.text.endswith("a second one") for c in made.chunks)


def test_small_blocks_are_packed_together() -> None:
    made = chunk("\n\n".join(f"Paragraph {i} is short." for i in range(20)), child_tokens=50)
    assert len(made.chunks) == 2
    assert made.chunks[0].text.count("Paragraph") == 10


def test_a_heading_stays_with_its_text() -> None:
    long = "a word " * 100
    made = chunk(f"# A\n\n{long}\n\n## B\n\n{long}", child_tokens=40)
    assert all(not t.rstrip().endswith(("# A", "## B")) for t in texts(made))


def test_one_endless_word_is_cut_in_linear_time() -> None:
    source = document("a" * 150_000, format="text")
    made = chunk(source)
    assert max(len(c.text) for c in made.chunks) <= 8 * 200
    assert_sound(source, made, limit=256)


def test_clusters_are_not_cut() -> None:
    source = document(FAMILY * 300 + "cafe\u0301" * 300, format="text")
    made = chunk(source, child_tokens=20, section_tokens=60)
    assert len(made.chunks) > 10
    for c in made.chunks:
        assert c.text[0] not in "\u200d\u0301\U0001f469\U0001f467\U0001f466"
    assert_sound(source, made, limit=256)


def test_chinese_is_measured_in_tokens_not_in_words() -> None:
    source = document("東京大学に行く。" * 500)
    made = chunk(source, child_tokens=50, section_tokens=100)
    assert max(len(c.text) for c in made.chunks) <= 8 * 50
    assert_sound(source, made, limit=256)


def test_split_span_is_exact_and_even() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve. " * 5
    spans = split_span(text, 0, len(text), size=30, length=WORDS.count, by=PROSE)
    assert "".join(text[a:b] for a, b in spans) == text
    assert [WORDS.count(text[a:b]) for a, b in spans] == [28, 28, 24]
    assert all(text[a:b].rstrip().endswith(".") for a, b in spans)


def test_a_span_that_fits_is_left() -> None:
    assert split_span("a b c", 0, 5, size=3, length=WORDS.count, by=PROSE) == [(0, 5)]


@pytest.mark.parametrize("language", ["python", "js", "go", "html", "yaml", ""])
def test_no_language_loses_text(language: str) -> None:
    text = "class A:\n    def f(self):\n        if x:\n            return 1\n\n<div><p>y</p></div>\nfunc b() {}\n" * 9
    spans = split_span(text, 0, len(text), size=20, length=WORDS.count, by=separators(language))
    assert "".join(text[a:b] for a, b in spans) == text
    assert len(spans) > 5


def test_separators_with_groups_are_left_out() -> None:
    assert _usable(("(a)", "b", "(?:c)")) == ("b", "(?:c)")
