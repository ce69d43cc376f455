"""How well a judge judges: its verdicts against the labels of an answer set, by sentence, by answer and by fault.

The two halves of the set are kept apart: thresholds are chosen on the tuning half, what is reported is the held-out one
unless both are asked for. Pure but for the judge itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_pipeline.evaluation.answer_labels import AnswerSet, LabelledAnswer, LabelledSentence
from rag_pipeline.evaluation.judges.base import MIN_COVERAGE, Judge, Judgement, is_constant, judge_all
from rag_pipeline.evaluation.split import Half
from rag_pipeline.evaluation.statistics.auroc import auroc, weighted_auroc

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Over sentences, or over whole answers (faithful where every sentence is)."""

    n: int
    unfaithful: int
    auroc: float | None
    """Chance that a faithful one scores above an unfaithful one; 0.5 is guessing. None where a class is empty."""
    auroc_low: float | None
    auroc_high: float | None
    """95 % percentile bootstrap over answers."""
    precision: float
    """Of what was called unfaithful, the share that is; 1 where nothing was."""
    recall: float
    """Of what is unfaithful, the share that was called so; 1 where nothing is."""
    f1: float
    """2 TP / (2 TP + FP + FN) of finding what is unfaithful; 1 where nothing is and nothing was called so."""
    f1_low: float
    f1_high: float


@dataclass(frozen=True, slots=True)
class FaultRecall:
    found: int
    n: int


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    judge: str
    fingerprint: str
    answer_set: str
    answer_set_hash: str
    half: Half
    answers: int
    judged: int
    valid: bool
    """At least MIN_COVERAGE of the answers were judged."""
    constant: bool
    """All answers got one score: it tells nothing apart."""
    failures: Mapping[str, int]
    by_answer: Accuracy | None
    """None where no answer was judged."""
    by_sentence: Accuracy | None
    """None for judges that give no verdicts by sentence."""
    faults: Mapping[str, FaultRecall]
    """By kind: how many faulty sentences were called unsupported; empty without verdicts by sentence."""


def judge_quality(
    judge: Judge, answers: AnswerSet, *, half: Half = Half.HELD_OUT, seed: int = 0, resamples: int = RESAMPLES
) -> JudgeQuality:
    """Run the judge over the answers of `half` and compare."""
    asked = [a for a in answers.answers if half is Half.BOTH or answers.half_of[a.id] is half]
    judgements = judge_all(judge, [(a.text, [p.quote for p in a.passages], a.question) for a in asked])
    return quality_of(judge, answers, asked, judgements, half=half, seed=seed, resamples=resamples)


def quality_of(
    judge: Judge,
    answers: AnswerSet,
    asked: Sequence[LabelledAnswer],
    judgements: Sequence[Judgement],
    *,
    half: Half,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> JudgeQuality:
    """The same from judgements that were made before, one for each of `asked`."""
    judged = [(i, a, j) for i, (a, j) in enumerate(zip(asked, judgements, strict=True)) if j.score is not None]
    scores = [j.score for _, _, j in judged if j.score is not None]
    by_answer = _Cases([i for i, _, _ in judged], scores, [a.faithful for _, a, _ in judged], [s >= 1 for s in scores])
    by_sentence = _Cases([], [], [], [])
    faults: dict[str, FaultRecall] = {}
    for i, answer, judgement in judged:
        for sentence in answer.sentences:
            verdict = _verdict(sentence, judgement)
            if verdict is None:
                continue
            score, supported = verdict
            by_sentence.add(i, score, sentence.faithful, supported)
            if sentence.fault is not None:
                known = faults.get(sentence.fault, FaultRecall(0, 0))
                faults[sentence.fault] = FaultRecall(known.found + (not supported), known.n + 1)
    drawn = np.random.default_rng(seed).multinomial(
        len(asked), np.full(len(asked), 1 / max(1, len(asked))), size=resamples
    )
    return JudgeQuality(
        judge=judge.name,
        fingerprint=judge.fingerprint,
        answer_set=answers.name,
        answer_set_hash=answers.content_hash,
        half=half,
        answers=len(asked),
        judged=len(judged),
        valid=bool(judged) and len(judged) >= MIN_COVERAGE * len(asked),
        constant=is_constant(scores),
        failures=dict(Counter(j.failure for j in judgements if j.failure is not None)),
        by_answer=by_answer.accuracy(drawn),
        by_sentence=by_sentence.accuracy(drawn),
        faults=dict(sorted(faults.items())),
    )


def _verdict(sentence: LabelledSentence, judgement: Judgement) -> tuple[float, bool] | None:
    """The worst of the verdicts that overlap the labelled sentence: judges may cut finer than the label."""
    over = [
        (v.score, v.supported)
        for v in judgement.sentences
        if v.start < sentence.end and sentence.start < v.end and v.score is not None and v.supported is not None
    ]
    return (min(score for score, _ in over), all(supported for _, supported in over)) if over else None


@dataclass(slots=True)
class _Cases:
    answers: list[int]
    """Which of the asked answers each case belongs to."""
    scores: list[float]
    faithful: list[bool]
    called: list[bool]
    """Called faithful."""

    def add(self, answer: int, score: float, faithful: bool, called: bool) -> None:
        self.answers.append(answer)
        self.scores.append(score)
        self.faithful.append(faithful)
        self.called.append(called)

    def accuracy(self, drawn: np.ndarray) -> Accuracy | None:
        """`drawn` (resamples, answers): how often each answer is in each resample."""
        if not self.scores:
            return None
        scores, faithful, called = np.array(self.scores), np.array(self.faithful), np.array(self.called)
        weights = drawn[:, self.answers].astype(np.float64)
        areas = weighted_auroc(scores, faithful, weights)
        areas = areas[~np.isnan(areas)]
        low, high = (float(e) for e in np.percentile(areas, [2.5, 97.5])) if len(areas) else (None, None)
        f1_low, f1_high = np.percentile(_f1(~faithful, ~called, weights), [2.5, 97.5])
        true = int((~faithful & ~called).sum())
        return Accuracy(
            n=len(scores),
            unfaithful=int((~faithful).sum()),
            auroc=auroc(scores, faithful),
            auroc_low=low,
            auroc_high=high,
            precision=true / int((~called).sum()) if (~called).any() else 1.0,
            recall=true / int((~faithful).sum()) if (~faithful).any() else 1.0,
            f1=float(_f1(~faithful, ~called, np.ones((1, len(scores))))[0]),
            f1_low=float(f1_low),
            f1_high=float(f1_high),
        )


def _f1(wanted: np.ndarray, called: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(r,) for `weights` (r, n)."""
    true = weights[:, wanted & called].sum(axis=1)
    wrong = weights[:, wanted ^ called].sum(axis=1)
    out = np.ones(len(weights))
    np.divide(2 * true, 2 * true + wrong, out=out, where=(2 * true + wrong) > 0)
    return out
