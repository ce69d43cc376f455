from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.evaluation.judges.sentences import sentences

CASES = {
    "two sentences": ("One is here. Two is there.", ["One is here.", "Two is there."]),
    "a decimal": ("Version 3.4 is out. It costs 0.18 USD.", ["Version 3.4 is out.", "It costs 0.18 USD."]),
    "an abbreviation": ("Ask Dr. Smith, e.g. today. Or not.", ["Ask Dr. Smith, e.g. today.", "Or not."]),
    "a mark behind the stop": ("It holds. [1] So does that. [2, 3]", ["It holds. [1]", "So does that. [2, 3]"]),
    "a mark inside": ("It holds [1] and lasts.", ["It holds [1] and lasts."]),
    "wrapped lines": ("It holds\nfor long. And\nends.", ["It holds\nfor long.", "And\nends."]),
    "quoted lines with marks": ("It holds [1]\nIt lasts [2]", ["It holds [1]", "It lasts [2]"]),
    "a mark alone": ("[1]\nIt holds.", ["It holds."]),
    "list items": ("Two:\n- one. More.\n- two", ["Two:", "one.", "More.", "two"]),
    "numbered items": ("1. First.\n2) Second.", ["First.", "Second."]),
    "a heading": ("# Head\nText", ["Head", "Text"]),
    "table rows": ("| a | b. C |\n| d | e |", ["a | b. C", "d | e"]),
    "inline code": ("Use `a. B` now. Then stop.", ["Use `a. B` now.", "Then stop."]),
    "a fence": ("See:\n```sh\n# x. Y\n\necho\n```\nDone.", ["See:", "# x. Y\n\necho", "Done."]),
    "an open fence": ("```\ncode. More", ["code. More"]),
    "no spaces": ("東京大学に行く。次の文。", ["東京大学に行く。", "次の文。"]),
    "nothing": (" \n\n[1] -- ?!", []),
}


@pytest.mark.parametrize("case", CASES)
def test_where_sentences_stand(case):
    text, expected = CASES[case]
    found = sentences(text)
    assert [s.text for s in found] == [part.removeprefix("| ") for part in expected]
    assert all(text[s.start : s.end] == s.text for s in found)


@given(st.text(alphabet="ab. \n`#|-[]1!?。é", max_size=60))
def test_offsets_are_exact_and_no_word_is_lost(text):
    found = sentences(text)
    assert all(text[s.start : s.end] == s.text for s in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    held = {i for s in found for i in range(s.start, s.end)}
    assert all(i in held for i, c in enumerate(text) if c in "abé")
