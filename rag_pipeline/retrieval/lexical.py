"""The BM25 leg: the best chunks in a mask, and the scores of given chunks, from the precomputed postings."""

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.pruning import contenders
from rag_pipeline.retrieval.rank import Rows, Scores, comparable, top
from rag_pipeline.retrieval.scope import Mask


def bm25(index: Index, text: str, *, mask: Mask, limit: int) -> tuple[Rows, tuple[str, ...]]:
    """(rows of the best `limit` in the mask, best first, markers). A chunk without any term of the query is none.

    A query's operators and quotes are plain text: the analyzer makes words of them.
    """
    used, markers = query_terms(index, text)
    rows = contenders(index.postings, used, mask=mask, limit=limit)
    scores = comparable(index.postings.scores_of(used, rows))
    some = scores > 0
    return top(scores[some], rows[some], limit), markers


def bm25_scores(index: Index, text: str, rows: Rows) -> Scores:
    """Of the given rows; 0 means that no term of the query is in the chunk."""
    return comparable(index.postings.scores_of(query_terms(index, text)[0], rows))


def query_terms(index: Index, text: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(numbers of the terms that are scored, markers): those the build knows, of a very long query the rarest."""
    known = index.postings.term_numbers(index.analyzer.tokens(text))
    used = index.postings.rarest(known)
    return used, (("bm25=rarest_terms",) if len(used) < len(known) else ())
