"""How well passages support a sentence: as their best window does, less for each thing that must match and doesn't.

A window is one to three sentences of a passage that follow each other. How like two texts are is the caller's (words in
lexical.py, vectors in semantic.py). The factors were chosen on the tuning half of eval_sets/faithfulness.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from rag_pipeline.evaluation.judges.sentences import sentences
from rag_pipeline.evaluation.judges.terms import Terms, terms, without_marks

VERSION = 1
"""Raise it with every change here, in sentences.py or in terms.py that gives some sentence another score."""

WINDOW = 3
MISSING = 0.3
"""For each number or name, at most two, that the window doesn't hold: below every threshold."""
NEGATED = 0.5
"""One of the two is negated and the other is not."""
BEYOND = 0.6
"""An "all", "always" or "every" that the window doesn't say."""
CONDITION = 0.5
"""An "if", "unless" or "only" that the window doesn't say."""
REORDERED = 0.5
"""Taken off, times the share of neighbouring words that stand in the other order, where most words are the same."""
SAME_WORDS = 0.5


@dataclass(frozen=True, slots=True)
class Window:
    sentences: tuple[str, ...]
    terms: Terms


@dataclass(frozen=True, slots=True)
class Support:
    score: float
    """0 to 1."""
    why: str
    """What the best window lacks, in words; "" where nothing."""


QUOTED = Support(1.0, "")
"""Of a sentence that stands in a passage as it is."""


def is_quoted(sentence: str, passages: Sequence[str]) -> bool:
    """The sentence, citation marks and white space apart, is a passage's own text."""
    bare = " ".join(without_marks(sentence).split())
    return any(bare in " ".join(without_marks(passage).split()) for passage in passages)


@lru_cache(maxsize=256)
def windows(passages: tuple[str, ...]) -> tuple[Window, ...]:
    found: dict[tuple[str, ...], None] = {}
    for passage in passages:
        texts = [s.text for s in sentences(without_marks(passage))]
        for size in range(1, WINDOW + 1):
            for at in range(len(texts) - size + 1):
                found[tuple(texts[at : at + size])] = None
    return tuple(Window(held, terms("\n".join(held))) for held in found)


def shared_words(claim: Terms, window: Terms) -> float:
    """Share of the claim's content words that the window holds; 1 where it has none."""
    return sum(word in window.words for word in claim.content) / len(claim.content) if claim.content else 1.0


def best_support(claim: Terms, found: Sequence[Window], likeness: Sequence[float]) -> Support:
    """`likeness` says how like the claim is to each window, 0 to 1. Without a window nothing is supported."""
    best = Support(0.0, "no passage to compare with")
    for window, like in zip(found, likeness, strict=True):
        factor, why = _factor(claim, window.terms)
        score = like * factor
        if score > best.score:
            best = Support(score, why)
    return best


def _factor(claim: Terms, window: Terms) -> tuple[float, str]:
    factor, why = 1.0, []
    numbers = [n for n in claim.numbers if not n & window.supporting]
    names = sorted(n for n in claim.names if n not in window.words)
    if numbers or names:
        factor *= MISSING ** min(2, len(numbers)) * MISSING ** min(2, len(names))
        why += [f"not there: {', '.join([*sorted(min(n) for n in numbers), *names])}"]
    if (claim.negations > 0) != (window.negations > 0):
        factor *= NEGATED
        why.append("negated in one of the two")
    if beyond := claim.universals - window.universals:
        factor *= BEYOND
        why.append(f"says {', '.join(sorted(beyond))}")
    if conditions := claim.conditions - window.conditions:
        factor *= CONDITION
        why.append(f"adds {', '.join(sorted(conditions))}")
    if shared_words(claim, window) >= SAME_WORDS and (share := _reordered(claim, window)):
        factor *= 1 - REORDERED * share
        why.append("in another order")
    return factor, "; ".join(why)


def _reordered(claim: Terms, window: Terms) -> float:
    """Share of the neighbouring pairs of common words that the window has the other way round; words that it holds
    twice are left out."""
    places: dict[str, int | None] = {}
    for i, word in enumerate(window.order):
        places[word] = None if word in places else i
    known = [place for word in claim.order if (place := places.get(word)) is not None]
    return sum(a > b for a, b in pairwise(known)) / (len(known) - 1) if len(known) > 1 else 0.0
