import base64
import random

import pytest

from rag_pipeline.chunking.blocks import Block
from rag_pipeline.chunking.garbage import (
    Hole,
    find_blobs,
    has_visible,
    is_minified,
    section_rule,
    without,
    word_count,
)
from rag_pipeline_tests.chunking.support import assert_sound, chunk, document, rules, texts

BLOB = base64.b64encode(random.Random(7).randbytes(900)).decode()
LONG = "This sentence is long enough to be kept on its own, whatever stands beside it."


def test_data_uris_in_image_and_link_syntax_are_cut_out_and_the_rest_is_kept() -> None:
    text = (
        f"# Diagram\n{LONG} ![plan](data:image/png;base64,{BLOB}) {LONG}\n\n"
        f"[The signed report](data:application/pdf;base64,{BLOB})\n"
    )
    source = document(text)
    made = chunk(source, min_chars=50)
    assert_sound(source, made, limit=256)
    holes = [e for e in made.ledger if e.rule == "base64"]
    assert [(e.outcome, text[e.start : e.end][:6], e.size) for e in holes] == [
        ("filtered", "(data:", len(BLOB) + len("(data:image/png;base64,)")),
        ("filtered", "(data:", len(BLOB) + len("(data:application/pdf;base64,)")),
    ]
    assert texts(made) == [f"# Diagram\n{LONG} ![plan]", f"{LONG}\n\n[The signed report]"]
    assert not any(BLOB[:50] in c.search_text for c in made.chunks)


def test_bare_base64_and_wrapped_lines() -> None:
    wrapped = "\n".join(BLOB[i : i + 64] for i in range(0, 1152, 64))
    assert [h.rule for h in find_blobs(f"key: {BLOB} end", start=0)] == ["base64"]
    assert [(h.start, h.end) for h in find_blobs(f"-----BEGIN-----\n{wrapped}\n", start=0)] == [(16, 16 + len(wrapped))]


@pytest.mark.parametrize(
    "text", ["a" * 5000, "-" * 500, "word/" * 100, "0123456789" * 50, f"data:text/plain,{'x' * 50}"]
)
def test_what_only_looks_like_base64(text: str) -> None:
    assert find_blobs(text, start=0) == []


def test_minified_lines() -> None:
    assert is_minified('{"k":[' + "1," * 2000 + "1]}")
    assert is_minified("function(a,b){return a+b};" * 50)
    assert not is_minified("word " * 400)
    assert not is_minified("東京大学に行く" * 200)
    assert not is_minified("a" * 3000)


def test_a_minified_file_is_one_rejected_piece_and_an_outline() -> None:
    text = '{"k":[' + "1," * 100_000 + "1]}"
    source = document(text, format="text", title="data.json")
    made = chunk(source)
    assert rules(made) == [("filtered", "minified"), ("notice", "outline")]
    assert made.ledger[0].size == len(text)
    assert [(c.kind, len(c.text)) for c in made.chunks] == [("outline", 80)]


def test_a_fence_around_a_minified_line_goes_with_it() -> None:
    blob = "function(a,b){return a+b};" * 60
    source = document(f"# A\n{LONG}\n\n```js\n{blob}\n```\n\n{LONG}\n")
    made = chunk(source, min_chars=50)
    assert texts(made) == [f"# A\n{LONG}", LONG]
    assert_sound(source, made, limit=256)


def test_blobs_are_blanked_out_at_their_own_length() -> None:
    assert without("abcdef", [Hole(1, 3, "base64"), Hole(4, 5, "base64")]) == "a  d f"
    assert without("abc", []) == "abc"


@pytest.mark.parametrize(
    ("kinds", "pieces", "expected"),
    [
        (["paragraph"], ["\u200b\n \t"], "whitespace"),
        (["rule"], ["---\n"], "separator_only"),
        (["paragraph"], ["* * * !"], "separator_only"),
        (["heading"], ["# A\n"], "header_only"),
        (["heading", "rule"], ["# A\n", "---\n"], "header_only"),
        (["heading", "paragraph"], ["# A\n", "short"], "too_short"),
        (["heading", "paragraph"], ["# A\n", "x" * 20], None),
    ],
)
def test_section_rules(kinds: list[str], pieces: list[str], expected: str | None) -> None:
    blocks, at = [], 0
    for kind, piece in zip(kinds, pieces, strict=True):
        blocks.append(Block(at, at + len(piece), kind))  # type: ignore[arg-type]
        at += len(piece)
    assert section_rule("".join(pieces), blocks, min_chars=20, beside_hole=False) == expected


def test_a_remnant_beside_a_hole_stays_when_it_has_words() -> None:
    text = "and press OK now"
    blocks = [Block(0, len(text), "paragraph")]
    assert section_rule(text, blocks, min_chars=50, beside_hole=True) is None
    assert section_rule(text, blocks, min_chars=50, beside_hole=False) == "too_short"


def test_words_and_visibility() -> None:
    assert word_count("a bc 12 déf 東京") == 4
    assert not has_visible("\u200b\n \t\ufeff")
    assert has_visible("\u200b.")


@pytest.mark.parametrize(("setting", "kept"), [("drop", False), ("keep", True)])
def test_comments_by_setting(setting: str, kept: bool) -> None:
    source = document(f"# A\n{LONG}\n\n<!--\n# old\n-->\n{LONG}\n")
    made = chunk(source, html_comments=setting)
    assert any("# old" in c.text for c in made.chunks) is kept
    assert [e.rule for e in made.ledger] == ([] if kept else ["html_comment"])
    assert {s.headers for s in made.sections} == {((1, "A"),)}
    assert_sound(source, made, limit=256)


def test_a_heading_right_before_a_dropped_comment_does_not_end_the_section_above() -> None:
    source = document(f"# A\n{LONG}\n\n## B\n\n<!-- md:version 9 -->\n\n{LONG}\n")
    made = chunk(source, min_chars=50)
    assert texts(made) == [f"# A\n{LONG}", LONG]
    assert made.sections[1].headers == ((1, "A"), (2, "B"))
    assert rules(made) == [("filtered", "header_only"), ("filtered", "html_comment")]
    assert_sound(source, made, limit=256)
