import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.context.budget import shares, windows
from rag_pipeline.text.tokenizer import WordTokenizer

WORDS = WordTokenizer()


@pytest.mark.parametrize(
    ("needs", "budget", "least", "expected"),
    [
        ([10, 10], 100, 5, (10, 10)),
        ([100, 100], 100, 10, (50, 50)),
        ([10, 100, 100], 100, 10, (10, 45, 45)),  # what the first leaves over goes to those behind it
        ([100, 100, 10], 100, 10, (57, 33, 10)),  # what the last leaves over goes to the first
        ([100] * 5, 70, 32, (35, 35, 0, 0, 0)),  # two of five, rather than five scraps
        ([100] * 5, 31, 32, (0, 0, 0, 0, 0)),
        ([5, 5, 100], 12, 32, (5, 5, 0)),
        ([0, 10], 10, 5, (0, 10)),
        ([], 10, 5, ()),
        ([10], 0, 5, (0,)),
        ([319, 453, 177], 2, 0, (1, 1, 0)),  # too little for all: the best ranked have it
        ([10], -5, 5, (0,)),
    ],
)
def test_shares_by_hand(needs: list[int], budget: int, least: int, expected: tuple[int, ...]) -> None:
    assert shares(needs, budget=budget, least=least) == expected


@given(st.lists(st.integers(0, 500), max_size=12), st.integers(-10, 2000), st.integers(0, 100))
def test_shares_never_exceed_the_budget_nor_a_need(needs: list[int], budget: int, least: int) -> None:
    given_ = shares(needs, budget=budget, least=least)
    assert sum(given_) <= max(0, budget)
    assert all(0 <= got <= need for got, need in zip(given_, needs, strict=True))
    taking = [got for got, need in zip(given_, needs, strict=True) if need]
    assert all(taking[: taking.index(0)]) and not any(taking[taking.index(0) :]) if 0 in taking else True
    assert all(got >= min(need, least) for got, need in zip(given_, needs, strict=True) if got)
    if sum(needs) <= budget:
        assert list(given_) == needs


TEXT = "one two three four five six seven eight nine ten"


def at(*words: str) -> list[tuple[int, int]]:
    return [(TEXT.index(word), TEXT.index(word) + len(word)) for word in words]


def shown(*words: str, tokens: int) -> list[str]:
    return [TEXT[start:end] for start, end in windows(TEXT, at(*words), WORDS.spans(TEXT), tokens=tokens)]


def test_the_whole_text_where_it_fits() -> None:
    assert windows(TEXT, at("five"), WORDS.spans(TEXT), tokens=10) == ((0, len(TEXT)),)


def test_around_the_hit() -> None:
    assert shown("five", tokens=3) == ["four five six"]
    assert shown("five", tokens=4) == ["four five six"], "both sides grow alike"
    assert shown("one", tokens=3) == ["one two three"]
    assert shown("ten", tokens=3) == ["eight nine ten"]


def test_several_hits_have_a_window_each_or_one_together() -> None:
    assert shown("two", "nine", tokens=6) == ["one two three", "eight nine ten"]
    assert shown("nine", "two", tokens=6) == ["one two three", "eight nine ten"], "in the order of the text"
    assert shown("four", "six", tokens=3) == ["four", "six"]
    assert shown("four", "six", tokens=5) == ["three four five six seven"]


def test_the_best_hit_stays_where_both_do_not_fit() -> None:
    assert shown("nine", "two", tokens=1) == ["nine"]
    assert [TEXT[s:e] for s, e in windows(TEXT, [(0, len(TEXT))], WORDS.spans(TEXT), tokens=2)] == ["one two"]


def test_without_hits_the_beginning() -> None:
    assert [TEXT[s:e] for s, e in windows(TEXT, [], WORDS.spans(TEXT), tokens=2)] == ["one two"]


def test_nothing_for_nothing() -> None:
    assert windows(TEXT, at("five"), WORDS.spans(TEXT), tokens=0) == ()
    assert windows("", [(0, 0)], [], tokens=5) == ()
    assert windows("  \n", [(0, 2)], [], tokens=5) == ((0, 3),)


class Pairs:
    """A token is two characters: cuts words as word pieces do."""

    fingerprint = "pairs"

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, min(i + 2, len(text))) for i in range(0, len(text), 2)]

    def count(self, text: str) -> int:
        return (len(text) + 1) // 2


def test_no_half_words_at_the_borders() -> None:
    text = "alphabet HIT betatest gamma"
    hit = [(text.index("HIT") - 1, text.index("HIT") + 3)]
    for tokens in range(2, 12):
        for start, end in windows(text, hit, Pairs().spans(text), tokens=tokens):
            assert not (start > 0 and text[start - 1].isalnum() and text[start].isalnum())
            assert not (end < len(text) and text[end - 1].isalnum() and text[end].isalnum())


@given(
    st.text(alphabet="ab .\n\u00e9\u6771", max_size=80),
    st.lists(st.tuples(st.integers(-5, 90), st.integers(-5, 90)), max_size=3),
    st.integers(-1, 40),
    st.sampled_from([WordTokenizer(), Pairs()]),
)
def test_spans_are_ordered_inside_the_text_and_within_the_tokens(text, hits, tokens, tokenizer) -> None:
    spans = windows(text, hits, tokenizer.spans(text), tokens=tokens)
    borders = [border for span in spans for border in span]
    assert borders == sorted(borders)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    inside = [
        token for token in tokenizer.spans(text) if any(start <= token[0] and token[1] <= end for start, end in spans)
    ]
    assert len(inside) <= max(0, tokens)
