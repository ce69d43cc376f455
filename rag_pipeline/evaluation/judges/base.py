"""What a judge of faithfulness is: it says, sentence by sentence, whether an answer is supported by its passages.

Lives here: the frozen values, and what a set of judgements is worth (coverage). How a judge decides is its own file's;
how well it decides is quality.py's.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

MIN_COVERAGE = 0.9
"""A mean over fewer of the answers than this is invalid: what failed is seldom like what did not."""
CONSTANT_FROM = 10
"""Answers from which on equal scores throughout are called constant."""


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    text: str
    start: int
    """Half-open code points of the answer."""
    end: int
    supported: bool | None
    """None: not judged."""
    score: float | None
    """0 to 1, higher is better supported; what the decision was made from."""
    why: str
    """What was missing, in words; "" where it is supported."""


@dataclass(frozen=True, slots=True)
class Judgement:
    score: float | None
    """Share of the judged sentences that are supported; None where the answer could not be judged, never a stand-in."""
    sentences: tuple[SentenceVerdict, ...] = ()
    """Empty for judges that cut an answer into statements of their own."""
    failure: str | None = None
    """Why there is no score: "no_sentences", "timeout", "http_<status>", "invalid_json", ...; None where there is."""


class Judge(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def parallel(self) -> int:
        """How many answers may be judged at a time."""
        ...

    @property
    def fingerprint(self) -> str:
        """Names everything a verdict depends on besides answer and passages: rules, threshold, model."""
        ...

    def judge(self, answer: str, passages: Sequence[str], *, question: str = "") -> Judgement:
        """Never raises for one answer: what went wrong is the judgement's `failure`. Judges by rule leave `question`
        unused; a language model cuts an answer better when it knows what was asked."""
        ...


def judge_all(judge: Judge, asked: Sequence[tuple[str, Sequence[str], str]]) -> tuple[Judgement, ...]:
    """Judgements of `(answer, passages, question)`, in their order."""
    with ThreadPoolExecutor(max(1, judge.parallel)) as pool:
        return tuple(pool.map(lambda a: judge.judge(a[0], a[1], question=a[2]), asked))


def judgement_of(sentences: Sequence[SentenceVerdict]) -> Judgement:
    """Share of supported among the judged sentences; a failure where no sentence was judged."""
    judged = [s.supported for s in sentences if s.supported is not None]
    if not judged:
        return Judgement(None, tuple(sentences), "no_sentences")
    return Judgement(sum(judged) / len(judged), tuple(sentences))


@dataclass(frozen=True, slots=True)
class JudgedAnswers:
    """One judge over a set of answers."""

    judge: str
    fingerprint: str
    mean: float | None
    """Mean score of the answers that were judged; None where none was, or where `valid` is False."""
    answers: int
    judged: int
    valid: bool
    """At least MIN_COVERAGE of the answers were judged; a metric that is not valid is not compared."""
    constant: bool
    """Every answer got the same score: right if all are alike, else the sign of a judge that doesn't look."""
    failures: Mapping[str, int]

    @property
    def coverage(self) -> float:
        """Judged share; 1 where there was nothing to judge."""
        return self.judged / self.answers if self.answers else 1.0


def judged_answers(judge: Judge, judgements: Sequence[Judgement]) -> JudgedAnswers:
    scores = [j.score for j in judgements if j.score is not None]
    valid = bool(scores) and len(scores) >= MIN_COVERAGE * len(judgements)
    return JudgedAnswers(
        judge=judge.name,
        fingerprint=judge.fingerprint,
        mean=math.fsum(scores) / len(scores) if valid else None,
        answers=len(judgements),
        judged=len(scores),
        valid=valid,
        constant=is_constant(scores),
        failures=dict(Counter(j.failure for j in judgements if j.failure is not None)),
    )


def is_constant(scores: Sequence[float]) -> bool:
    return len(scores) >= CONSTANT_FROM and max(scores) == min(scores)
