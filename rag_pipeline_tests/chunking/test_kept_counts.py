"""A text is counted once for a tokenizer; what is kept is never another tokenizer's, another code's or damaged."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_pipeline.chunking import kept_counts as module
from rag_pipeline.chunking.kept_counts import KeptCounts
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.text.tokenizer import WordTokenizer


class Counting(WordTokenizer):
    def __init__(self, fingerprint: str = "counting") -> None:
        self.fingerprint = fingerprint
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return super().count(text)


@pytest.fixture
def paths(tmp_path: Path) -> CollectionPaths:
    return CollectionPaths(tmp_path / "c")


def test_only_new_texts_are_counted_each_once(paths: CollectionPaths) -> None:
    first, second = Counting(), Counting()
    assert KeptCounts(paths, first)(["one", "two words", "one"]) == [1, 2, 1]
    assert first.asked == ["one", "two words"]
    count = KeptCounts(paths, second)
    assert count(["now three words", "one", "two words"]) == [3, 1, 2]
    assert (second.asked, count.counted) == (["now three words"], 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(rounds=st.lists(st.lists(st.text("ab .\x00é", max_size=5), max_size=6), max_size=4))
def test_the_counts_are_those_of_the_tokenizer_after_any_history(
    paths: CollectionPaths, rounds: list[list[str]]
) -> None:
    for texts in rounds:
        assert KeptCounts(paths, Counting())(texts) == [WordTokenizer().count(text) for text in texts]


@pytest.mark.parametrize("at", [0, 20, -1])
def test_a_flipped_bit_makes_all_be_counted_again(paths: CollectionPaths, at: int) -> None:
    KeptCounts(paths, Counting())(["one", "two words"])
    file = paths.staging / "token_counts.bin"
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    tokenizer = Counting()
    assert KeptCounts(paths, tokenizer)(["one", "two words"]) == [1, 2]
    assert tokenizer.asked == ["one", "two words"]
    assert KeptCounts(paths, (again := Counting()))(["one"]) == [1]
    assert again.asked == []


def test_another_tokenizer_or_other_code_counts_for_itself(
    paths: CollectionPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptCounts(paths, Counting())(["one"])
    other = Counting("other")
    KeptCounts(paths, other)(["one"])
    assert other.asked == ["one"]
    monkeypatch.setattr(module, "BY", "other code")
    changed = Counting("other")
    KeptCounts(paths, changed)(["one"])
    assert changed.asked == ["one"]


def test_what_is_kept_is_that_of_the_last_call(paths: CollectionPaths) -> None:
    for number in range(5):
        KeptCounts(paths, Counting())([f"text {number}", "shared"])
    assert (paths.staging / "token_counts.bin").stat().st_size == 2 * 24
