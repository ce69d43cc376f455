"""Support by words: the share of a sentence's content words that its best window holds. Needs no model.

It can't see that two words mean the same: how often that deceives it is measured by quality.py.
"""

from collections.abc import Sequence

from rag_pipeline.evaluation.judges.base import Judgement, SentenceVerdict, judgement_of
from rag_pipeline.evaluation.judges.sentences import sentences
from rag_pipeline.evaluation.judges.support import QUOTED, VERSION, best_support, is_quoted, shared_words, windows
from rag_pipeline.evaluation.judges.terms import terms

THRESHOLD = 0.4
"""Best F1 on the tuning half of eval_sets/faithfulness."""


class LexicalJudge:
    name = "lexical"
    parallel = 1

    def __init__(self, *, threshold: float = THRESHOLD) -> None:
        self.threshold = threshold
        self.fingerprint = f"lexical-{VERSION}-{threshold:g}"

    def judge(self, answer: str, passages: Sequence[str], *, question: str = "") -> Judgement:
        found = windows(tuple(passages))
        verdicts = []
        for sentence in sentences(answer):
            claim = terms(sentence.text)
            support = (
                QUOTED
                if is_quoted(sentence.text, passages)
                else best_support(claim, found, [shared_words(claim, w.terms) for w in found])
            )
            supported = support.score >= self.threshold
            why = "" if supported else support.why or "too few of its words are there"
            verdicts.append(SentenceVerdict(sentence.text, sentence.start, sentence.end, supported, support.score, why))
        return judgement_of(verdicts)
