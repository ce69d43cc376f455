from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pipeline.chunking.chunk import chunk_document
from rag_pipeline.chunking.presets import PRESETS
from rag_pipeline.chunking.registry import CHUNKERS
from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.settings.build import ChunkingSettings
from rag_pipeline_tests.chunking.support import WORDS, assert_nothing_lost, assert_sound, chunk, document, texts

FRAGMENTS = (
    "# A\n",
    "## B ##\n",
    "Title\n=====\n",
    "---\n",
    "```py\n",
    "```\n",
    "~~~~\n",
    "    indented\n",
    "- item\n",
    "  - deeper\n",
    "1. first\n",
    "> quote\n",
    "> # no\n",
    "|a|b|\n|-|-|\n",
    "|1|2|\n",
    "<!-- c -->\n",
    "<!--\n",
    "-->\n",
    "<div>\n",
    "[x]: http://y\n",
    "!!! note\n\n    text\n\n",
    "words that go on for a little while. ",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "\u00a0",
    "\u200b",
    "cafe\u0301 ",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "東京大学に行く。",
    "x" * 90,
    "data:image/png;base64," + "iVBORw0KGgo9aZ8" * 12,
)
MARKDOWN = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=60).map("".join)
SIZES = st.sampled_from(
    [
        {},
        {"child_tokens": 8, "section_tokens": 16},
        {"child_tokens": 12, "section_tokens": 40, "child_overlap_tokens": 5},
        {"child_tokens": 10, "section_tokens": 30, "unit": "words", "html_comments": "keep"},
        {"min_chars": 50, "child_tokens": 20, "section_tokens": 60},
    ]
)


@settings(max_examples=120, deadline=None)
@given(text=MARKDOWN, sizes=SIZES, limit=st.sampled_from([16, 32, 256]))
def test_markdown_of_any_shape_is_chunked_without_loss(text: str, sizes: dict[str, object], limit: int) -> None:
    source = document(text)
    assert_sound(source, chunk(source, limit=limit, **sizes), limit=limit)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=300), format=st.sampled_from(["markdown", "text", "rst", "python", "yaml", "sql", "bash"]))
def test_any_text_in_any_format_is_chunked_without_loss(text: str, format: str) -> None:
    source = document(text, format=format)
    assert_sound(source, chunk(source, child_tokens=10, section_tokens=40), limit=256)


@settings(max_examples=40, deadline=None)
@given(text=MARKDOWN, name=st.sampled_from(sorted(CHUNKERS)))
def test_every_chunker_is_exact(text: str, name: str) -> None:
    source = document(text)
    made = chunk(source, chunker=name, child_tokens=10, section_tokens=40)
    assert all(c.text == text[c.start : c.end] and c.tokens <= 256 for c in made.chunks)
    assert bool(made.chunks) or bool(made.ledger)


def test_the_property_tests_notice_a_loss() -> None:
    source = document("# A\nbody\n\n# B\nmore\n")
    made = chunk(source)
    with pytest.raises(AssertionError):
        assert_nothing_lost(source, replace(made, sections=made.sections[1:]))
    with pytest.raises(AssertionError):
        assert_nothing_lost(source, replace(made, sections=(made.sections[0],) * 2))


def test_the_same_document_gives_the_same_chunks() -> None:
    text = "# A\n" + "some words here. " * 200
    assert chunk(text) == chunk(text)


def test_every_chunk_of_a_document_is_kept() -> None:
    """Storing chunks under one key a document used to leave the last one only."""
    made = chunk("".join(f"# H{i}\nbody {i}\n" for i in range(5)))
    assert [c.ordinal for c in made.chunks] == [0, 1, 2, 3, 4]
    assert len({c.chunk_id for c in made.chunks}) == 5


def test_one_short_document_is_one_chunk() -> None:
    made = chunk("Ten short words are all that there is in here.", min_chars=50)
    assert len(made.chunks) == 1
    assert made.sections[0].headers == ((1, "Doc"),)


def test_ids_depend_on_document_and_span_alone() -> None:
    first, second = (chunk(document("# A\nbody", doc_id=name)) for name in ("a.md", "b.md"))
    assert first.chunks[0].chunk_id != second.chunks[0].chunk_id
    assert first.chunks[0].chunk_id == chunk(document("# A\nbody", doc_id="a.md", title="Other")).chunks[0].chunk_id
    assert first.sections[0].section_id[0] == "s"
    assert len(first.chunks[0].chunk_id) == 20


def test_a_duplicate_is_not_chunked() -> None:
    made = chunk(document("# A\nbody", canonical_id="other.md"))
    assert (made.sections, made.chunks, made.ledger) == ((), (), ())


def test_text_past_the_limit_is_split_not_dropped() -> None:
    """A model reads so many tokens and drops the rest silently: the answer at the end must be in a chunk of its own."""
    source = document("# A\n" + "word " * 600 + "the answer is 42")
    made = chunk(source, limit=64, child_tokens=400, section_tokens=700)
    assert max(c.tokens for c in made.chunks) <= 64
    assert made.chunks[-1].text.endswith("the answer is 42")
    assert_sound(source, made, limit=64)


def test_the_longest_path_leaves_room_for_the_text() -> None:
    source = document("# " + "long title " * 30 + "\n" + "word " * 100)
    made = chunk(source, limit=64)
    assert all(c.tokens <= 64 and len(c.text) > 100 for c in made.chunks)


def test_settings_are_refused_by_name() -> None:
    with pytest.raises(UnknownName, match=r"unknown chunker 'section' .*did you mean 'sections'"):
        chunk("x", chunker="section")
    with pytest.raises(ValueError, match=r"child_overlap_tokens .20. must be smaller than child_tokens .10."):
        ChunkingSettings(child_tokens=10, child_overlap_tokens=20)
    with pytest.raises(InvalidSettings, match="limit of 8 tokens is too small"):
        chunk("x", limit=8)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_work(name: str) -> None:
    source = document("# A\n" + "Some words make a sentence here. " * 200)
    made = chunk_document(source, PRESETS[name], WORDS, limit=256)
    assert_sound(source, made, limit=256)
    target = PRESETS[name].child_tokens
    assert max(WORDS.count(c.text) for c in made.chunks) <= target + target // 8


def test_a_fixed_window_has_no_structure() -> None:
    text = "# A\n" + " ".join(f"w{i}" for i in range(100))
    made = chunk(text, chunker="fixed_window", child_tokens=10, section_tokens=20)
    assert [len(t.split()) for t in texts(made)] == [10] * 10 + [2]
    assert len(made.sections) == 6
    assert {s.headers for s in made.sections} == {((1, "Doc"),)}


def test_fixed_windows_overlap() -> None:
    text = " ".join(f"w{i}" for i in range(40))
    made = chunk(text, chunker="fixed_window", child_tokens=10, section_tokens=40, child_overlap_tokens=4)
    assert [t.split()[0] for t in texts(made)][:3] == ["w0", "w2", "w8"]


def test_a_whole_document_is_truncated_and_counted() -> None:
    text = "# A\n" + "word " * 600
    made = chunk(text, chunker="whole_document", limit=64)
    (only,) = made.chunks
    assert only.text == text.strip()
    assert only.tokens == 64
    assert [(e.outcome, e.rule, e.size) for e in made.ledger] == [
        ("notice", "truncated", len("Doc\n" + text.strip()) - len(only.search_text))
    ]


def test_langchain_headers_are_located_in_the_source() -> None:
    text = "# A\n\nfirst\n\n## B\n\n    indented  text\n\nlast\n"
    made = chunk(text, chunker="langchain_headers")
    assert [(s.headers, text[s.start : s.end]) for s in made.sections] == [
        (((1, "A"),), "first"),
        (((1, "A"), (2, "B")), "indented  text\n\nlast"),
    ]


def test_langchain_reports_what_it_loses() -> None:
    made = chunk("# A\n## B\n", chunker="langchain_headers")
    assert [(e.outcome, e.rule) for e in made.ledger] == [("filtered", "no_chunk")]


@pytest.mark.parametrize("name", ["fixed_window", "whole_document", "langchain_headers"])
def test_an_empty_document_is_reported_by_every_chunker(name: str) -> None:
    made = chunk(" \n\u200b", chunker=name)
    assert made.chunks == ()
    assert [e.outcome for e in made.ledger] == ["filtered"]
