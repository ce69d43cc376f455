"""What an answer is worth without a language model: the key facts in it, its likeness to a reference, its abstentions.

Pure. Whether an answer is supported by its passages is a judge's question.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_pipeline.embedding.base import Embedder
from rag_pipeline.evaluation.judges.terms import terms, without_marks

FACT_WORDS = 0.75
"""Least share of a key fact's content words that the answer must hold."""


def has_fact(fact: str, answer: str) -> bool:
    """A key fact counts when all its numbers and names and FACT_WORDS of its content words are in the answer.

    Words meet by their stems, numbers by their value, wherever in the answer they stand.
    """
    wanted, said = terms(fact), terms(answer)
    if any(not number & said.supporting for number in wanted.numbers):
        return False
    if any(name not in said.words for name in wanted.names):
        return False
    held = sum(word in said.words for word in wanted.content)
    return held >= FACT_WORDS * len(wanted.content)


def key_fact_recall(facts: Sequence[str], answer: str) -> float | None:
    """Share of the facts that the answer has; 0 for an empty answer, None where there are no facts."""
    return sum(has_fact(fact, answer) for fact in facts) / len(facts) if facts else None


def reference_similarity(answer: str, reference: str, embedder: Embedder) -> float:
    """Cosine of the two texts, 0 to 1 (below 0 counts as 0), as far as the model reads them; 0 for an empty answer."""
    if not answer.strip():
        return 0.0
    one, other = embedder.embed([without_marks(answer), reference])
    return min(1.0, max(0.0, float(one @ other)))


@dataclass(frozen=True, slots=True)
class Abstention:
    """Over the questions that got an answer or an abstention; failed calls are neither."""

    unanswerable: int
    abstained: int
    precision: float | None
    """Of the abstentions, the share on unanswerable questions; None where nobody abstained."""
    recall: float | None
    """Of the unanswerable questions, the share abstained on; None where there is none."""


def abstention_of(asked: Sequence[tuple[bool, bool]]) -> Abstention:
    """`(answerable, abstained)` of each question."""
    unanswerable = sum(not answerable for answerable, _ in asked)
    abstained = sum(abstained for _, abstained in asked)
    right = sum(abstained and not answerable for answerable, abstained in asked)
    return Abstention(
        unanswerable=unanswerable,
        abstained=abstained,
        precision=right / abstained if abstained else None,
        recall=right / unanswerable if unanswerable else None,
    )
