"""Repair of decoded text and the way back to the offsets before it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.text.repair import BOM, repair, repair_text, to_source_offset, to_source_span

TROUBLE = st.text(alphabet=st.sampled_from("ab \t\n\r\x00\x07\x0b\x0c\x1b\ufeff\ud800\udfff\ufffdé東😀"), max_size=60)


@pytest.mark.parametrize(
    ("before", "after", "source_map"),
    [
        ("plain\ttext\n", "plain\ttext\n", ()),
        ("", "", ()),
        (f"{BOM}# A\nx", "# A\nx", ((0, 1),)),
        ("a\r\nb\r\nc", "a\nb\nc", ((1, 2), (3, 5))),
        ("a\rb", "a\nb", ()),
        ("end\x0cstart", "end\nstart", ()),
        ("a\x00b", "ab", ((1, 2),)),
        ("a\x00\x01\x02b\x00", "ab", ((1, 4), (2, 6))),
        ("\x00\r\nx", "\nx", ((0, 2),)),
        ("ok \ud800 ok", "ok \ufffd ok", ()),
        (f"a{BOM}b", f"a{BOM}b", ()),
        ("\x00", "", ((0, 1),)),
    ],
)
def test_repair(before: str, after: str, source_map: tuple[tuple[int, int], ...]) -> None:
    repaired = repair(before)
    assert (repaired.text, repaired.source_map) == (after, source_map)
    assert bool(repaired.repairs) == (before != after)


def test_what_was_done_is_said() -> None:
    assert repair(f"{BOM}a\r\nb\rc\x00\x01\ud800").repairs == (
        "byte order mark removed",
        "1 CRLF line ends to LF",
        "1 CR, VT or FF to LF",
        "2 control characters removed",
        "1 lone surrogates to U+FFFD",
    )


def test_offsets_lead_back_to_the_file() -> None:
    before = f"{BOM}# A\r\nsee\x00 b\r\n"
    repaired = repair(before)
    at = repaired.text.index("b")
    assert before[to_source_offset(repaired.source_map, at)] == "b"
    assert to_source_offset((), 7) == 7


def test_a_span_ends_behind_its_last_character() -> None:
    """Mapping the end offset itself would take in the CR that follows the span."""
    repaired = repair("ab\r\ncd\r\n")
    start, end = to_source_span(repaired.source_map, 0, 2)
    assert "ab\r\ncd\r\n"[start:end] == "ab"
    assert to_source_span(repaired.source_map, 3, 3) == (4, 4)


@given(TROUBLE)
def test_repaired_text_is_clean_and_stays_so(text: str) -> None:
    clean = repair_text(text)
    clean.encode("utf-8")
    assert not any(c < " " and c not in "\t\n" for c in clean)
    assert repair_text(clean) == clean
    assert len(clean) <= len(text)


@given(TROUBLE)
def test_map_is_monotone_and_text_between_breakpoints_is_the_source(text: str) -> None:
    repaired = repair(text)
    offsets = [to_source_offset(repaired.source_map, i) for i in range(len(repaired.text) + 1)]
    assert all(a < b for a, b in itertools.pairwise(offsets))
    assert offsets[-1] <= len(text)
    same_length = {"\r": "\n", "\x0b": "\n", "\x0c": "\n", **dict.fromkeys("\ud800\udfff", "\ufffd")}
    for stored, original in zip(repaired.text, offsets[:-1], strict=True):
        assert stored == same_length.get(text[original], text[original])


@given(TROUBLE)
def test_only_what_was_removed_is_skipped(text: str) -> None:
    repaired = repair(text)
    kept = {to_source_offset(repaired.source_map, i) for i in range(len(repaired.text))}
    for i in set(range(len(text))) - kept:
        removed_cr = text[i] == "\r" and text[i + 1 : i + 2] == "\n"
        leading = not text[:i].strip(f"{BOM}\x00\x07\x1b")
        assert removed_cr or (text[i] == BOM and leading) or (text[i] < " " and text[i] not in "\t\n\r\x0b\x0c")


def test_a_long_line_takes_linear_time() -> None:
    assert len(repair_text("x" * 5_000_000 + "\x00")) == 5_000_000
