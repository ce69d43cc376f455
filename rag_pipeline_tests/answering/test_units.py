import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.answering.units import MAX_UNIT_CHARS, units_of
from rag_pipeline_tests.answering.results import passage


def texts(text: str) -> list[tuple[str, str]]:
    return [(unit.kind, unit.text) for unit in units_of([passage(1, text)])]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "# Head\n\nThe first sentence is long enough here. The second one is long enough too.",
            [
                ("sentence", "The first sentence is long enough here. The second one is long enough too."[:39]),
                ("sentence", "The second one is long enough too."),
            ],
        ),
        (
            "- **Bind.** Every tool is looked up.\n- Next item",
            [("sentence", "- **Bind.** Every tool is looked up."), ("sentence", "- Next item")],
        ),
        ("- wrapped\n  item goes on\n\nAfter", [("sentence", "- wrapped\n  item goes on"), ("sentence", "After")]),
        (
            "| Code | Meaning |\n| --- | --- |\n| E-1 | one |\n| E-2 | two |",
            [("row", "| E-1 | one |"), ("row", "| E-2 | two |")],
        ),
        ("| E-1 | one |\n| E-2 | two |", [("row", "| E-1 | one |"), ("row", "| E-2 | two |")]),
        (
            "| Code |\n|:---:|\n| E-1 |\n|---|\n| E-2 |\n\n| Plan |\n|---|\n| Pro |",
            [("row", "| E-1 |"), ("row", "| E-2 |"), ("row", "| Pro |")],
        ),
        (
            "```sh\nrun a\n\nrun b\n```\nText after.",
            [("code", "run a"), ("code", "run b"), ("sentence", "Text after.")],
        ),
        ("~~~\n# no heading\n```\nstill code\n~~~", [("code", "# no heading\n```\nstill code")]),
        ("```\nnever closed", [("code", "never closed")]),
        ("Title\n-----\nBody of it.", [("sentence", "Body of it.")]),
        ("---\n\n***\n\n| - |", []),
        ("", []),
    ],
)
def test_what_can_be_quoted(text: str, found: list[tuple[str, str]]) -> None:
    assert texts(text) == found


def test_what_stands_under_a_heading_carries_it() -> None:
    first, second = units_of(
        [passage(1, "## Torque ##\n\nForty newton metres.\n\nOil\n===\n\nOne litre of it.", title="Pump")]
    )
    assert first.under == "Pump Pump Part Torque"
    assert second.under == "Pump Pump Part Oil"


def test_a_row_carries_the_header_of_its_table() -> None:
    text = "| Plan | Rate limit |\n|---|--:|\n| Pro | 60 |\n\n| Free | 10 |\n\nAfter the tables."
    pro, free, after = units_of([passage(1, text)])
    assert (pro.text, pro.under) == ("| Pro | 60 |", "Page Page Part Plan Rate limit")
    assert free.under == after.under == "Page Page Part"


def test_a_long_one_is_cut_between_lines_or_words() -> None:
    lines = "\n".join(["x = 1"] * 300)
    for text in (f"```\n{lines}\n```", "word " * 500, "z" * 2000):
        units = units_of([passage(1, text)])
        assert len(units) > 1
        assert all(len(u.text) <= MAX_UNIT_CHARS and u.text == u.text.strip() for u in units)
        assert all(u.text in text for u in units)


def test_pieces_of_one_passage_are_not_joined() -> None:
    assert [u.text for u in units_of([passage(1, "ends without a stop", "begins anew here")])] == [
        "ends without a stop",
        "begins anew here",
    ]


@given(st.text(alphabet="ab.A1 \n|-#`~*>=", max_size=80))
def test_every_unit_stands_in_its_passage(text: str) -> None:
    units = units_of([passage(3, text)])
    assert all(unit.text in text and unit.number == 3 for unit in units)
    assert [unit.order for unit in units] == list(range(len(units)))


@pytest.mark.parametrize(
    "piece",
    ["| a ", "| a |\n|---|\n", "|:", "- a\n", "```\n", "# a\n", "a\n", "a\n---\n", "~" * 50 + "\n", "\n", "a. A"],
)
def test_a_hostile_passage_takes_no_time(piece: str) -> None:
    started = time.monotonic()
    units_of([passage(1, piece * (60_000 // len(piece)))])
    assert time.monotonic() - started < 3
