from rag_pipeline.chunking.blocks import Parsed
from rag_pipeline.chunking.sectioner_markdown import is_headings_only, parse_markdown, plain_title
from rag_pipeline_tests.chunking.support import document


def parse(text: str, *, body_start: int = 0) -> Parsed:
    return parse_markdown(document(text, body_start=body_start), size=lambda start, end: end - start, cap=1000)


def headings(text: str) -> list[tuple[int, str]]:
    return [(b.level, b.title) for part in parse(text).parts for b in part.blocks if b.kind == "heading"]


def kinds(text: str) -> list[str]:
    return [b.kind for part in parse(text).parts for b in part.blocks]


def test_a_comment_in_a_fence_is_no_heading() -> None:
    text = "# Setup\n~~~sh\n# install it\n~~~\n# Use\nx"
    setup, use = parse(text).parts
    assert (setup.headers, use.headers) == (((1, "Setup"),), ((1, "Use"),))
    assert "# install it" in text[setup.start : setup.end]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    text = "# A\n````md\n```\n# no\n```\n# no\n````\n# B\n"
    assert headings(text) == [(1, "A"), (1, "B")]
    assert [b.language for p in parse(text).parts for b in p.blocks if b.kind == "fence"] == ["md"]


def test_an_unclosed_fence_runs_to_the_end_and_is_noticed() -> None:
    text = "# A\nintro\n```\n# x\ncode to end"
    parsed = parse(text)
    assert headings(text) == [(1, "A")]
    assert parsed.parts[-1].end == len(text)
    assert [(n.outcome, n.rule, n.start, n.end) for n in parsed.notices] == [
        ("notice", "unclosed_fence", 10, len(text))
    ]


def test_closed_fences_are_not_noticed() -> None:
    assert parse("```\nx\n```\n\n> ```\n> y\n> ```\n\n- a\n\n  ```\n  z\n  ```\n\n```\n```\n").notices == ()


def test_indented_code_is_no_heading() -> None:
    text = "# A\n\n    # ls -l\n\n# B\ny"
    assert headings(text) == [(1, "A"), (1, "B")]
    assert kinds(text) == ["heading", "indented_code", "heading", "paragraph"]


def test_a_heading_inside_a_comment_is_none() -> None:
    text = "# A\n<!--\n# old\n-->\nz"
    assert headings(text) == [(1, "A")]
    assert kinds(text) == ["heading", "comment", "paragraph"]


def test_an_unclosed_comment_is_kept_and_noticed() -> None:
    parsed = parse("text\n\n<!-- never closed\n\n# A\n")
    assert [b.kind for p in parsed.parts for b in p.blocks] == ["paragraph", "html"]
    assert [n.rule for n in parsed.notices] == ["unclosed_comment"]


def test_setext_headings() -> None:
    text = "Pump manual\n===========\n\nBody\n\nSafety\n------\nWear gloves"
    assert headings(text) == [(1, "Pump manual"), (2, "Safety")]
    assert [p.headers for p in parse(text).parts] == [
        ((1, "Pump manual"),),
        ((1, "Pump manual"), (2, "Safety")),
    ]


def test_dashes_after_a_blank_line_are_a_rule() -> None:
    assert kinds("Body\n\n---\n\nmore") == ["paragraph", "rule", "paragraph"]


def test_closing_hashes_tags_and_seven_hashes() -> None:
    text = "## Oil ##\n#hashtag\n####### seven"
    assert headings(text) == [(2, "Oil")]
    assert kinds(text) == ["heading", "paragraph"]


def test_headings_in_quotes_and_lists_open_nothing() -> None:
    assert headings("> # q\n\n- # l\n\ntext\n") == []


def test_titles_are_what_a_reader_sees() -> None:
    assert plain_title("The `main` *of* [a **link**](http://x) ![alt](y.png) {#anchor}") == "The main of a link alt"
    assert plain_title("Install { #install }") == "Install"
    assert plain_title('6.1.0 <small>October</small> { id="6.1.0" }') == "6.1.0 October"
    assert plain_title("Options {: .class #x }") == "Options"
    assert plain_title('{{% heading "options" %}}') == '{{% heading "options" %}}'
    assert plain_title("Use {braces}") == "Use {braces}"


def test_a_reference_link_in_a_title_is_resolved() -> None:
    assert headings("# See [it][ref]\n\n[ref]: http://x\n") == [(1, "See it")]


def test_front_matter_is_not_read() -> None:
    front = "---\ntags: [a]\n# note\n---\n"
    text = front + "# A\nz"
    assert [p.headers for p in parse(text, body_start=len(front)).parts] == [((1, "A"),)]
    assert parse(text, body_start=len(front)).parts[0].start == len(front)


def test_link_definitions_are_kept_as_blocks() -> None:
    text = "See [a].\n\n[a]: http://example.org\n"
    blocks = [b for p in parse(text).parts for b in p.blocks]
    assert [b.kind for b in blocks] == ["paragraph", "definition"]
    assert text[blocks[1].start : blocks[1].end].strip() == "[a]: http://example.org"


def test_list_children_cover_the_list() -> None:
    text = "- one\n\n  ```\n  code\n  ```\n- two\n  - deep\n\nafter\n"
    block = parse(text).parts[0].blocks[0]
    first, second = block.children
    assert [c.kind for c in first.children] == ["paragraph", "fence"]
    assert (first.start, second.end) == (block.start, block.end)
    assert first.end == second.start == text.index("- two")


def test_a_fence_in_an_admonition_is_found() -> None:
    """Under `!!! note` everything is indented: to CommonMark it is one block of code."""
    text = "!!! note\n\n    Text.\n\n    ```py\n    # not a heading\n    ```\n"
    note, content = parse(text).parts[0].blocks
    assert (note.kind, content.kind) == ("paragraph", "indented_code")
    assert [c.kind for c in content.children] == ["paragraph", "fence"]
    assert headings(text) == []


def test_admonitions_and_imports_stay_text() -> None:
    text = "import X from './x'\n\nexport const y = 1\n\n/// tip\nA tip.\n///\n\n:::note\nhello\n:::\n"
    assert set(kinds(text)) == {"paragraph"}


def test_table_head() -> None:
    text = "x\n\n|a|b|\n|-|-|\n|1|2|\n"
    table = parse(text).parts[0].blocks[1]
    assert table.head is not None
    assert text[slice(*table.head)] == "|a|b|\n|-|-|\n"


def test_line_ends_of_every_kind() -> None:
    assert headings("# A\r\n\r\n# B\rtext\r\r# C\n") == [(1, "A"), (1, "B"), (1, "C")]


def test_headings_only() -> None:
    assert is_headings_only("# A\n\n## B\n\n---\n")
    assert not is_headings_only("# A\n\ntext")
    assert not is_headings_only("# A\n\n[a]: http://x\n")
    assert not is_headings_only("")
