import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.answering.base import Answer
from rag_pipeline.answering.extractive import ExtractiveAnswerer
from rag_pipeline.context.citations import check_citations
from rag_pipeline_tests.answering.results import passage, result_of
from rag_pipeline_tests.fakes import WordEmbedder

PUMP = passage(1, "The pump moves oil through the valve. The filter of the pump is replaced every month.", title="Pump")
OTHER = passage(2, "Gloves are worn near every machine. Nobody eats in the hall.", title="Safety")


def ask(question: str, *passages: object, **options: object) -> Answer:
    return ExtractiveAnswerer(**options).answer(question, result_of(*passages))


def words(question: str, texts: Sequence[str]) -> np.ndarray:
    embedder = WordEmbedder()
    return embedder.embed(texts) @ embedder.embed([question])[0]


def test_the_sentence_that_answers_with_its_mark() -> None:
    answer = ask("how often is the filter replaced?", OTHER, PUMP, most=1)
    assert answer.text == "The filter of the pump is replaced every month. [1]"
    assert [(c.number, c.doc_id) for c in answer.citations] == [(1, "doc1.md")]
    assert (answer.abstained, answer.reason, answer.model, answer.answerer) == (False, None, None, "extractive")


def test_at_most_so_many_and_the_best_passage_first() -> None:
    many = passage(1, " ".join(f"The valve number {n} is checked by nobody at all." for n in range(9)))
    best = passage(2, "Each valve is checked for leaks in spring. The hall is painted white every year.")
    answer = ask("valve checked for leaks", many, best, most=3, similarity=words)
    lines = answer.text.split("\n")
    assert len(lines) == 3
    assert lines[0] == "Each valve is checked for leaks in spring. [2]"
    assert [c.number for c in answer.citations] == [2, 1]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    common = "The plan is the plan of the plan."
    text = passage(1, f"{common} Here the plan is as before.\n\nThe plan needs a sponsor to begin with.\n\n{common}")
    assert ask("the plan sponsor", text, most=1).text.startswith("The plan needs a sponsor")


def test_the_rank_of_the_passage_decides_between_equals() -> None:
    one, two = (passage(n, f"Keys are rotated by team {n}.") for n in (1, 2))
    for ranks, first in (((1, 2), 1), ((2, 1), 2)):
        answer = ExtractiveAnswerer(most=1).answer("who rotates keys", result_of(one, two, ranks=ranks))
        assert answer.text.endswith(f"[{first}]")


def test_words_in_the_heading_count_for_less() -> None:
    under = passage(2, "Ninety days at most.", heading="Rotation of keys")
    beside = passage(1, "Ninety euros at most.", heading="Prices")
    assert ask("rotation keys at most", beside, under, most=1).text == "Ninety days at most. [2]"


def test_similarity_finds_what_words_miss() -> None:
    """A similarity that knows a synonym puts the sentence first that shares no word with the question."""

    def knows(question: str, texts: Sequence[str]) -> np.ndarray:
        return np.array([0.9 if "vehicle" in text else 0.1 for text in texts], np.float32)

    text = passage(1, "Every vehicle is parked behind the hall.\n\nThe car wash is closed for good today.")
    assert ask("where does the car stand", text, most=1).text.startswith("The car wash")
    assert ask("where does the car stand", text, most=1, similarity=knows).text.startswith("Every vehicle")


def test_no_sentence_reaches_the_floor() -> None:
    answer = ask("zebra crossing regulations", PUMP, OTHER)
    assert (answer.text, answer.abstained, answer.reason, answer.citations) == ("", True, "below_floor", ())
    assert ask("zebra crossing regulations", PUMP, OTHER, similarity=words).reason == "below_floor"


@pytest.mark.parametrize(
    ("cosine", "question", "answered"),
    [
        (0.21, "what does the vaporiser do", False),  # the words of any question, and nothing like it
        (0.23, "what does the vaporiser do", True),
        (0.25, "why vaporisers corrode quickly", False),  # similar enough, but it shares no word
        (0.36, "why vaporisers corrode quickly", True),
        (0.0, "the filter is replaced", True),  # all of its words in one sentence
    ],
)
def test_the_floor_with_a_similarity(cosine: float, question: str, answered: bool) -> None:
    text = passage(1, "Nobody knows what the old one does or will do. The filter is replaced in May.")

    def alike(question: str, texts: Sequence[str]) -> np.ndarray:
        return np.full(len(texts), cosine, np.float32)

    assert ask(question, text, similarity=alike).abstained is not answered


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("what does E-6050 mean", False),
        ("what does e-6001 mean", True),
        ("E-6001 or E-6050?", False),
        ("in 2026-03?", True),
    ],
)
def test_another_identifier_is_no_answer(question: str, known: bool) -> None:
    """A table of codes answers for its nearest code where the one that was asked for isn't in it."""
    table = passage(1, "| Code | Meaning |\n| --- | --- |\n| E-6001 | what it does mean in 2026-03 |")
    assert (ask(question, table).reason == "unknown_identifier") is not known


@pytest.mark.parametrize(
    ("question", "text", "known"),
    [
        ("What does E-605 mean?", "The code E-6050 does mean that the pump is dry.", False),
        ("What does E-605 mean?", "The code XE-605 does mean that the pump is dry.", False),
        ("What does E-605 mean?", "The code E-605-B does mean that the pump is dry.", False),
        ("What is new in v1.2?", "What is new in v1.2.3 is the pump.", False),
        ("What does E-605 mean?", "See _E-605_: it does mean that the pump is dry.", True),
        ("What does E-605 mean?", "It does mean what is told in E-605.md of the pump.", True),
        ("What does E-605 mean?", "It does mean a dry pump, as does E-605.", True),
        ("Does BL04 stop the pump?", "BL041 does stop the pump.", False),
        ("What does E-605 mean?", "Code E-604 does mean 605 pumps of class E.", False),
        ("What is CVE-2025-31877?", "What CVE-2025-31878 is: found in 2025 as one more CVE of 31877.", False),
        ("Is there a 30-day refund?", "Refunds are given for 30 days, there is no refund after that.", True),
        ("Is there 2-factor login?", "There is a login with a second factor.", True),
        ("Is the audit in mid-2026?", "The audit is held in the summer of 2026.", True),
        ("Does it run on Python3.11?", "It does run on Python 3.11 and later.", True),
        ("Does it run on Python3.11?", "It does run on Python 3.12 and later.", False),
    ],
)
def test_an_identifier_is_known_as_a_whole(question: str, text: str, known: bool) -> None:
    assert (ask(question, passage(1, text)).reason == "unknown_identifier") is not known


def test_nothing_was_found_or_nothing_presented() -> None:
    assert ask("x").reason == "no_context"
    empty = result_of(empty_reason="filter_empty")
    assert ExtractiveAnswerer().answer("x", empty).reason == "filter_empty"


def test_marks_inside_a_quotation_are_not_ours() -> None:
    cited = passage(1, "The figure of the audit is in the appendix [7], as agreed.")
    answer = ask("where is the figure of the audit", cited)
    assert answer.text == r"The figure of the audit is in the appendix \[7], as agreed. [1]"
    assert check_citations(answer.text, presented=1).cited == (1,)


def test_code_keeps_its_fence_and_its_mark_outside() -> None:
    code = passage(1, "```py\nrotate_keys(vault)\n```")
    answer = ask("rotate_keys", code)
    assert answer.text == "```\nrotate_keys(vault)\n```\n[1]"
    assert check_citations(answer.text, presented=1).cited == (1,)


def test_the_same_sentence_is_said_once() -> None:
    twice = [passage(n, "Keys are rotated every ninety days.") for n in (1, 2)]
    assert ask("when are keys rotated", *twice).text == "Keys are rotated every ninety days. [1]"


def test_a_stream_ends_with_the_answer() -> None:
    answerer, result = ExtractiveAnswerer(), result_of(PUMP, OTHER)
    *pieces, last = answerer.stream("how often is the filter replaced?", result)
    assert last == answerer.answer("how often is the filter replaced?", result)
    assert isinstance(last, Answer) and "".join(map(str, pieces)) == last.text
    (only,) = answerer.stream("zebra", result)
    assert isinstance(only, Answer) and only.abstained


PIECES = ("the", "pump", "oil", "valve", "[1]", "```\n", "#", "\n\n", "|", "a.", "B", "E-12", "`x`", "filter")
WORDS = st.lists(st.sampled_from(PIECES), max_size=30)


@given(WORDS, WORDS, st.text(max_size=30))
def test_every_quotation_is_cited_and_stands_in_its_passage(one: list[str], two: list[str], question: str) -> None:
    passages = passage(1, " ".join(one)), passage(2, " ".join(two))
    for asked in (question, "pump oil filter"):
        answer = ask(asked, *passages, similarity=words)
        again = ask(asked, *passages, similarity=words)
        assert answer == again
        assert answer.abstained is (answer.text == "") is (answer.reason is not None)
        found = check_citations(answer.text, presented=2)
        assert (found.cited, found.invalid) == (tuple(c.number for c in answer.citations), ())


def test_a_huge_question_takes_no_time() -> None:
    started = time.monotonic()
    for question in ("pump " * 20_000, "E-1" * 20_000, "a-" * 40_000, "1.a" * 30_000):
        ask(question, PUMP)
    assert time.monotonic() - started < 3
