"""Support by meaning: the greatest cosine of a sentence with a window of the passages, by the release's own embedder.

A window's vector is the mean of its sentences', at unit length: on the tuning half within 0.01 of the AUROC that
embedding each window has, at a third of the cost.

Vectors of single words, numbers and names say little, so these must match as in support.py.
"""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from rag_pipeline.embedding.base import Embedder
from rag_pipeline.evaluation.judges.base import Judgement, SentenceVerdict, judgement_of
from rag_pipeline.evaluation.judges.sentences import sentences
from rag_pipeline.evaluation.judges.support import QUOTED, VERSION, Window, best_support, is_quoted, windows
from rag_pipeline.evaluation.judges.terms import terms, without_marks

THRESHOLD = 0.5
"""Best F1 on the tuning half of eval_sets/faithfulness, with the default model."""
KEPT = 20_000
"""Vectors of texts that a judge remembers."""


class SemanticJudge:
    name = "semantic"
    parallel = 1

    def __init__(self, embedder: Embedder, *, threshold: float = THRESHOLD) -> None:
        self.threshold = threshold
        self.fingerprint = f"semantic-{VERSION}-{threshold:g}-{embedder.fingerprint}"
        self._embedder = embedder
        self._kept: OrderedDict[str, np.ndarray] = OrderedDict()

    def judge(self, answer: str, passages: Sequence[str], *, question: str = "") -> Judgement:
        found = windows(tuple(passages))
        said = sentences(answer)
        if not said:
            return judgement_of(())
        claims = [without_marks(s.text) for s in said]
        cosines = self._vectors(claims) @ self._windows(found).T
        verdicts = []
        for sentence, row in zip(said, cosines, strict=True):
            support = (
                QUOTED
                if is_quoted(sentence.text, passages)
                else best_support(terms(sentence.text), found, np.maximum(row, 0.0).tolist())
            )
            supported = support.score >= self.threshold
            why = "" if supported else support.why or "nothing there says it"
            verdicts.append(SentenceVerdict(sentence.text, sentence.start, sentence.end, supported, support.score, why))
        return judgement_of(verdicts)

    def _windows(self, found: Sequence[Window]) -> np.ndarray:
        """(n, dimension), unit length."""
        alone = list(dict.fromkeys(sentence for window in found for sentence in window.sentences))
        of = dict(zip(alone, self._vectors(alone), strict=True))
        sums = [np.sum([of[sentence] for sentence in window.sentences], axis=0) for window in found]
        stacked = np.stack(sums) if sums else np.zeros((0, self._embedder.dimension), np.float32)
        lengths: np.ndarray = np.maximum(np.linalg.norm(stacked, axis=1, keepdims=True), 1e-9)
        return np.asarray(stacked / lengths, np.float32)

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        """(n, dimension); passages come again with every answer over them, so the last KEPT texts are embedded once."""
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        fresh = dict(zip(new, self._embedder.embed(new), strict=True)) if new else {}
        out = np.zeros((len(texts), self._embedder.dimension), np.float32)
        for i, text in enumerate(texts):
            out[i] = fresh[text] if text in fresh else self._kept[text]
        self._kept.update(fresh)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return out
