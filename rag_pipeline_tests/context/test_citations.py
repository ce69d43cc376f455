import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.context.citations import check_citations, without_invalid


def test_each_mark_against_what_was_presented() -> None:
    checked = check_citations("Rotate keys [2]. Also see [1][2] and [9].", presented=3)
    assert checked.cited == (2, 1)
    assert (checked.invalid, checked.invalid_count) == (("9",), 1)
    assert checked.uncited == (3,)


@pytest.mark.parametrize(
    ("answer", "cited", "invalid"),
    [
        ("[1, 3]", (1, 3), ()),
        ("[1; 2]", (1, 2), ()),
        ("[1-3]", (1, 2, 3), ()),
        ("[2–4]", (2, 3), ("4",)),
        ("[3-1]", (3, 1), ()),
        ("[0]", (), ("0",)),
        ("[9] [9]", (), ("9", "9")),
        ("[1-99999]", (1,), ("99999",)),
        ("[" + "9" * 50 + "]", (), ("9" * 50,)),
        ("word[1].", (1,), ()),
        (r"\[1]", (), ()),
        ("`items[1]` and\n```py\na[2]\n```\n[3]", (3,), ()),
        ("```\nnever closed [1]", (), ()),
        ("[x] [^1] [1a] []", (), ()),
        ("", (), ()),
    ],
)
def test_forms(answer: str, cited: tuple[int, ...], invalid: tuple[str, ...]) -> None:
    checked = check_citations(answer, presented=3)
    assert (checked.cited, checked.invalid) == (cited, invalid)


def test_nothing_was_presented() -> None:
    checked = check_citations("As [1] says", presented=0)
    assert (checked.cited, checked.invalid, checked.uncited) == ((), ("1",), ())


@pytest.mark.parametrize("answer", ["`" * 50_000, "[1" * 50_000, "```\n" * 20_000, "[1]" * 30_000])
def test_a_hostile_answer_takes_no_time(answer: str) -> None:
    started = time.monotonic()
    check_citations(answer, presented=3)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("So it is [1]. By law [9].", "So it is [1]. By law."),
        ("[1, 9, 2] and [2-5]", "[1, 2] and [2, 3]"),
        ("[9][1] [8]!", "[1]!"),
        ("`items[9]` and\n```py\na[9]\n```\n[9]", "`items[9]` and\n```py\na[9]\n```\n"),
        (r"\[9] stays", r"\[9] stays"),
        ("[[9]9]", r"\[?]"),
        ("nothing", "nothing"),
    ],
)
def test_invalid_numbers_are_taken_out(answer: str, kept: str) -> None:
    assert without_invalid(answer, presented=3) == kept
    assert check_citations(kept, presented=3).invalid == ()


@given(st.text(alphabet="[]19, -`\n\\a", max_size=40))
def test_none_is_left_and_no_valid_one_is_lost(answer: str) -> None:
    kept = without_invalid(answer, presented=1)
    found = check_citations(kept, presented=1)
    assert found.invalid == ()
    if not check_citations(answer, presented=1).invalid:
        assert kept == answer
