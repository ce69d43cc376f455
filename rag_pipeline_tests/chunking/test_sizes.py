from rag_pipeline.chunking.sizes import Scale, Sizes, unit_starts
from rag_pipeline_tests.chunking.support import WORDS


def test_a_token_counts_where_it_starts() -> None:
    scale = Scale("one two, three", WORDS)
    assert scale.starts == [0, 4, 7, 9]
    assert scale.span(0, 14) == 4
    assert scale.span(1, 8) == 2
    assert scale.string("one two") == 2


def test_one_endless_word_counts_by_its_length() -> None:
    assert Scale("a" * 1000, WORDS).span(0, 1000) == 125
    assert Scale("a" * 32, WORDS).span(0, 32) == 1


def test_what_a_tokenizer_drops_still_counts() -> None:
    """Stacked marks vanish in the model's normaliser: by tokens alone a chunk could hold any number of them."""
    text = "e" + "\u0301" * 80
    assert unit_starts(text, [(0, 1)]) == [0, *range(9, 81, 8)]


def test_white_space_counts_little() -> None:
    assert unit_starts("x" + " " * 128 + "y", [(0, 1), (129, 130)]) == [0, 65, 129]


def test_words_and_the_models_tokens_bind_together() -> None:
    """40 words of two tokens each weigh more than 30 words where only 60 tokens have room."""

    class TwoTokens:
        fingerprint = "two"

        def spans(self, text: str) -> list[tuple[int, int]]:
            return [part for s, e in WORDS.spans(text) for part in ((s, s + 1), (s + 1, e))]

        def count(self, text: str) -> int:
            return len(self.spans(text))

    text = "abc " * 40
    measure = Sizes(text, TwoTokens(), unit="words").child_measure(size=30, token_room=40)
    assert measure.budget == 30
    assert measure.span(0, len(text)) == 60
    assert measure.string("abc") == 2


def test_a_splitters_sum_never_stands_still() -> None:
    measure = Sizes("x", WORDS, unit="tokens").child_measure(size=10, token_room=10)
    assert (measure.string(" "), measure.string("")) == (1, 0)


def test_slack_ends_at_the_models_limit() -> None:
    sizes = Sizes("x", WORDS, unit="tokens")
    assert sizes.child_measure(size=80, token_room=200).most == 90
    assert sizes.child_measure(size=80, token_room=84).most == 84
    assert sizes.child_measure(size=80, token_room=50).budget == 50
    assert sizes.section_measure(size=80).most == 80
