"""The BM25 leg: scores of all chunks from the precomputed postings, under a mask."""

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.rank import Rows, Scores, comparable, top
from rag_pipeline.retrieval.scope import Mask


def bm25(index: Index, text: str, *, mask: Mask, limit: int) -> tuple[Rows, Scores, tuple[str, ...]]:
    """(rows of the best `limit`, scores of all chunks, markers). 0 means that no term of the query is in the chunk.

    A query's operators and quotes are plain text: the analyzer makes words of them.
    """
    used, markers = query_terms(index, text)
    scores = comparable(index.postings.scores(used))
    if mask is not None:
        scores[~mask] = 0.0
    rows = np.flatnonzero(scores)
    return top(scores[rows], rows, limit), scores, markers


def query_terms(index: Index, text: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(numbers of the terms that are scored, markers): those the build knows, of a very long query the rarest."""
    known = index.postings.term_numbers(index.analyzer.tokens(text))
    used = index.postings.rarest(known)
    return used, (("bm25=rarest_terms",) if len(used) < len(known) else ())
