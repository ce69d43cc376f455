import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.text.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("It ends\nhere. And goes on", ["It ends\nhere.", "And goes on"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("See e.g. Figure 3. Then stop.", ["See e.g. Figure 3. Then stop."]),  # "3." reads as the number of a list
        ("Ask Dr. Vos, i.e. Samira. She knows.", ["Ask Dr. Vos, i.e. Samira.", "She knows."]),
        ("Version 3.4.1 is out. Use it.", ["Version 3.4.1 is out.", "Use it."]),
        ("1. First step. 2. Second step.", ["1. First step.", "2. Second step."]),
        ("a title\n\nA paragraph.", ["a title", "A paragraph."]),
        ("東京に行く。楽しい！次は？", ["東京に行く。", "楽しい！", "次は？"]),
        ("Das gilt z. B. Montags. Sonst nicht.", ["Das gilt z. B. Montags.", "Sonst nicht."]),
        ("**Bold.** Rest of it.", ["**Bold.**", "Rest of it."]),
        ("call `a.b()` now. then lower case goes on.", ["call `a.b()` now. then lower case goes on."]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_where_sentences_end(text: str, found: list[str]) -> None:
    assert sentences(text) == found


@given(st.text(alphabet="aB.!?。 \n\"')*1", max_size=60))
def test_nothing_is_lost_and_nothing_is_said_twice(text: str) -> None:
    spans = list(sentence_spans(text))
    assert all(low < high for low, high in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("piece", ["A. ", ".", "a.\n", "。", '."', " ", "\n\n", "e.g. "])
def test_a_hostile_text_takes_no_time(piece: str) -> None:
    started = time.monotonic()
    list(sentence_spans(piece * (100_000 // len(piece))))
    assert time.monotonic() - started < 3
