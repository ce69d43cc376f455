"""Document evidence: a chunk counts more when its document has other good chunks. Pure."""

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.retrieval.rank import Scores

BEST = 3


def add_evidence(scores: Scores, documents: NDArray[np.integer], *, share: float) -> Scores:
    """`scores` plus `share` times the sum of the three best scores of the same document.

    `documents` numbers each candidate's document. A document with fewer than three candidates has nothing in the place
    of the missing ones.
    """
    order = np.lexsort((-scores, documents))
    sorted_documents = documents[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = sorted_documents[1:] != sorted_documents[:-1]
    group = np.cumsum(new) - 1
    place = np.arange(len(order)) - np.flatnonzero(new)[group]
    best = np.where(place < BEST, scores[order], 0.0)
    sums = np.bincount(group, weights=best)
    evidence = np.empty(len(order))
    evidence[order] = sums[group]
    return scores + share * evidence
