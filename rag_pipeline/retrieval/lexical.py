"""The BM25 leg: scores of all chunks from the precomputed postings, under a mask."""

import numpy as np

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.rank import Rows, Scores, comparable, top
from rag_pipeline.retrieval.scope import Mask


def bm25(index: Index, text: str, *, mask: Mask, limit: int) -> tuple[Rows, Scores, tuple[str, ...]]:
    """(rows of the best `limit`, scores of all chunks, markers). 0 means that no term of the query is in the chunk.

    A query's operators and quotes are plain text: the analyzer makes words of them.
    """
    known = index.postings.term_numbers(index.analyzer.tokens(text))
    used = index.postings.rarest(known)
    scores = comparable(index.postings.scores(used))
    if mask is not None:
        scores[~mask] = 0.0
    rows = np.flatnonzero(scores)
    return top(scores[rows], rows, limit), scores, (("bm25=rarest_terms",) if len(used) < len(known) else ())
