"""A judge that says what a test scripts."""

from collections.abc import Mapping, Sequence

from rag_pipeline.evaluation.judges.base import Judgement, SentenceVerdict, judgement_of


class ScriptedJudge:
    """`scores` by answer: a number is the score; several are one a line of the answer; a text is a failure."""

    name = "scripted"

    def __init__(
        self, scores: Mapping[str, float | Sequence[float] | str], *, fingerprint: str = "scripted-1", parallel: int = 1
    ) -> None:
        self.scores = scores
        self.fingerprint = fingerprint
        self.parallel = parallel
        self.asked: list[tuple[str, tuple[str, ...], str]] = []

    def judge(self, answer: str, passages: Sequence[str], *, question: str = "") -> Judgement:
        self.asked.append((answer, tuple(passages), question))
        score = self.scores[answer]
        if isinstance(score, str):
            return Judgement(None, failure=score)
        if isinstance(score, int | float):
            return Judgement(float(score))
        verdicts, at = [], 0
        for line, value in zip(answer.split("\n"), score, strict=True):
            verdicts.append(SentenceVerdict(line, at, at + len(line), value >= 0.5, value, ""))
            at += len(line) + 1
        return judgement_of(verdicts)
