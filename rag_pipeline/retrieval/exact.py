"""The query's identifiers, word for word: `create_agent`, `E-4021`, `C++`, `3.14`, `/etc/hosts`.

Whoever writes one means that one. Vectors hardly tell two of them apart and BM25 weighs a whole identifier like its
parts, so a chunk that holds it gets a bonus by how much of the query it is. A query that is nothing but an identifier
is answered by the chunks that hold it before all others; in a sentence the other words keep their say.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.rank import DECIMALS, Rows, Scores, comparable
from rag_pipeline.retrieval.ranking import Ranking
from rag_pipeline.retrieval.scope import Mask
from rag_pipeline.text.analyzer import Word


def exact_share(index: Index, query: str, rows: Rows, *, mask: Mask) -> Scores:
    """How much of the query the identifiers are that each of `rows` holds, in 0..1; (rows,). All rows passed the mask.

    A word of the query weighs the inverse document frequency of its rarest token, an identifier that of the whole one;
    where no chunk has the whole one, of its rarest part that is an identifier still. Only chunks in the mask count, so
    a score never tells that an identifier stands somewhere the caller may not look. What none of them holds weighs
    nothing: nothing can be preferred for it.
    """
    share = np.zeros(len(rows))
    weights: list[float] = []
    for word in dict.fromkeys(index.analyzer.words(query)):
        number, weight, whole = _sought(index, word, mask)
        weights.append(weight)
        if number is not None and whole:
            share[index.postings.holds(number, rows)] += weight
    everything = math.fsum(weights)
    return comparable(share / everything) if everything else share


def add_exact(scores: Scores, share: Scores, *, strength: float) -> Scores:
    """`scores` plus `strength` times `share` squared times a little more than the distance from worst to best score.

    So at strength 1 a candidate with a share of 1 is in front of every candidate without one. Squared, because a number
    or a hyphen in a long question is seldom what it is about.
    """
    if not len(scores):
        return scores.copy()
    return scores + strength * share**2 * (float(np.ptp(scores)) + 10.0**-DECIMALS)


def exact_first(ranking: Ranking, share: Mapping[int, float], strength: float) -> Ranking:
    """The same once more behind a reranker, which reads for meaning. `share` by row."""
    before = np.array(ranking.scores, np.float64)
    scores = comparable(
        add_exact(before, np.array([share[row] for row in ranking.rows], np.float64), strength=strength)
    )
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return replace(ranking, scores=tuple(scores.tolist())).chosen(order)


def _sought(index: Index, word: Word, mask: Mask) -> tuple[int | None, float, bool]:
    """(term, its idf, whether it is an identifier) of what stands for the word in the mask; else (None, 0, False)."""
    for tokens, is_identifier in ((word.identifiers[:1], True), (word.identifiers[1:], True), (word.tokens, False)):
        numbers = [int(number) for number in index.postings.term_numbers(tokens)]
        known = [(weight, number) for number in numbers if (weight := _idf(index, number, mask))]
        if known:
            weight, number = max(known)
            return number, weight, is_identifier
    return None, 0.0, False


def _idf(index: Index, number: int, mask: Mask) -> float:
    """Among the chunks in the mask; 0 where none of them holds the term."""
    rows = index.postings.rows_of(number)
    df = len(rows) if mask is None else int(np.count_nonzero(mask[rows]))
    chunks = index.chunks if mask is None else int(np.count_nonzero(mask))
    return math.log1p((chunks - df + 0.5) / (df + 0.5)) if df else 0.0
