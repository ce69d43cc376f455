"""Finding and parsing front matter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.sources.front_matter import MAX_CHARS, split_front_matter


def test_yaml_with_a_comment() -> None:
    text = "---\ntags: [a]\n# note\n---\n# A\nz"
    front = split_front_matter(text)
    assert front.values == {"tags": ["a"]}
    assert text[front.body_start :] == "# A\nz"
    assert not front.notice


def test_toml() -> None:
    text = '+++\ntitle = "Pump"\nversion = 1.10\n+++\nbody'
    front = split_front_matter(text)
    assert front.values == {"title": "Pump", "version": 1.1}
    assert front.written["version"] == "1.10"
    assert text[front.body_start :] == "body"


def test_scalars_as_they_were_typed() -> None:
    front = split_front_matter("---\nversion: 1.10\nlanguage: no\nid: 007\n---\n")
    assert front.written == {"version": "1.10", "language": "no", "id": "007"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A\n",
        "---",
        "--- x\n---\n",
        "---\na rule, then text\n",
        "---\n\na paragraph between two rules\n\n---\nmore",
        "text\n---\na: b\n---\n",
    ],
)
def test_no_front_matter_and_no_complaint(text: str) -> None:
    front = split_front_matter(text)
    assert (front.values, front.body_start, front.notice, front.hides_access) == ({}, 0, "", False)


def test_empty_block_and_end_of_file() -> None:
    assert split_front_matter("---\n---\n# A").body_start == 8
    assert split_front_matter("---\na: b\n---").body_start == 12


@pytest.mark.parametrize(
    "block",
    [
        "tags: [a\n",
        "a: b: c\n",
        "created: 2024-13-45\n",
        "a: !!bool x\n",
        "a: !!timestamp x\n",
        'a: !!int ""\n',
        "a: !!python/object/apply:os.system [true]\n",
        "a: *unknown\n",
        "a: &loop [*loop]\n",
        "[" * 5000 + "\n",
    ],
)
def test_a_malformed_block_stays_text_with_a_notice(block: str) -> None:
    front = split_front_matter(f"---\n{block}---\nbody")
    assert (front.body_start, front.values) == (0, {})
    assert front.notice.startswith("front matter is not readable")


def test_malformed_toml_stays_text_with_a_notice() -> None:
    assert "not readable" in split_front_matter("+++\ntitle = \n+++\nbody").notice


def test_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 30)]
    front = split_front_matter("---\n" + "\n".join(lines) + "\n---\nbody")
    assert "aliases" in front.notice
    assert split_front_matter("---\na: &x [1]\nb: *x\n---\n").values == {"a": [1], "b": [1]}


def test_a_huge_block_is_no_front_matter() -> None:
    front = split_front_matter("---\n" + "a: b\n" * MAX_CHARS + "---\n")
    assert (front.body_start, front.values) == (0, {})


@pytest.mark.parametrize(
    "text",
    [
        "---\naccess: [group:board]\ntags: [a\n---\nbody",
        "---\ntitle: x\naccess: [group:board]\n\nnever closed",
        '---\n"access": [group:board]\n: {\n---\nbody',
        '+++\naccess = ["group:board"]\ntitle =\n+++\nbody',
        "---\nAccess: [group:board\n---\nbody",
    ],
)
def test_an_unreadable_block_with_an_access_list_is_noticed(text: str) -> None:
    """Left to itself it would be plain text, and the page it protects would be public."""
    front = split_front_matter(text)
    assert front.hides_access
    assert front.notice


@given(st.text(alphabet=st.sampled_from("-+.: \n\tab[]{}*&!'\"#%@|>0"), max_size=80))
def test_anything_between_the_marks_is_survived(block: str) -> None:
    text = f"---\n{block}\n---\nbody"
    front = split_front_matter(text)
    assert 0 <= front.body_start <= len(text)
