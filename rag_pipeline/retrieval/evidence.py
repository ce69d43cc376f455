"""Document evidence: a chunk counts more where its document matches as a whole and has other strong chunks. Pure.

Two kinds, each at most as large as the best chunk's score: the document's profile, and a third of the sum of the
squares of its three best chunk scores. Squares, because three chunks that match a little are no evidence of one that
matches well; unsquared, the mere length of a document lifts it.
"""

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.retrieval.rank import Scores

BEST = 3


def add_evidence(scores: Scores, documents: NDArray[np.integer], profile: Scores, *, share: float) -> Scores:
    """`scores` plus `share` times the evidence of each candidate's document, on the scale of the best score.

    With s for a score over the best one, the evidence is `profile` (0..1, one value a document) plus the sum of s^2
    over the document's three best candidates, divided by 3. A document with fewer candidates has nothing in the place
    of the missing ones. Where no score is above 0 there is no evidence.
    """
    highest = float(scores.max(initial=0.0))
    if not highest:
        return scores.copy()
    order = np.lexsort((-scores, documents))
    sorted_documents = documents[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = sorted_documents[1:] != sorted_documents[:-1]
    group = np.cumsum(new) - 1
    place = np.arange(len(order)) - np.flatnonzero(new)[group]
    strong = (np.clip(scores[order], 0.0, None) / highest) ** 2
    sums = np.bincount(group, weights=np.where(place < BEST, strong, 0.0))
    among = np.empty(len(order))
    among[order] = sums[group]
    return scores + share * highest * (profile + among / BEST)
