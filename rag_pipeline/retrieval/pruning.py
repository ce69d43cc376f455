"""Which rows can be among the best by BM25, without scoring every row that holds a term.

Terms are taken by the most that they can give, rarest first. Once the terms that are left can't lift a new row above
the best `limit` found so far, their postings are only looked up for the rows that are still in the race (MaxScore:
Turtle and Flood 1995, "Query Evaluation: Strategies and Optimizations"). Nothing is approximate: sums here are in
single precision with an allowance for its error, and whoever asks scores the few rows that are left exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.postings import Postings, weights_at
from rag_pipeline.retrieval.rank import DECIMALS, Rows
from rag_pipeline.retrieval.scope import Mask

SHORT = 1024
"""Postings up to which taking a list costs less than asking whether it is needed."""
ROUNDOFF = 2.0**-24
"""Of one operation in single precision."""


@dataclass(frozen=True, slots=True)
class _Term:
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]
    bound: float
    """The highest of the weights."""


def contenders(postings: Postings, numbers: NDArray[np.int64], *, mask: Mask, limit: int) -> Rows:
    """Ascending rows in the mask that hold a term, among them the best `limit`; seldom many more."""
    terms = sorted((_term(postings, int(number)) for number in numbers), key=lambda term: -term.bound)
    left = float(sum(term.bound for term in terms))
    slack = 10.0**-DECIMALS + 4 * len(terms) * ROUNDOFF * left
    sums = np.zeros(postings.chunks, np.float32)
    found: list[NDArray[np.int32]] = []
    held = taken = 0
    for term in terms:
        if held >= limit and len(term.rows) > SHORT and left < _threshold(sums[np.concatenate(found)], limit) - slack:
            break
        rows, weights = (term.rows, term.weights) if mask is None else _inside(term, mask)
        before = sums[rows]
        sums[rows] = before + weights  # a row occurs once a term
        found.append(rows[before == 0])
        held += len(found[-1])
        left -= term.bound
        taken += 1
    rows = np.concatenate(found) if found else np.zeros(0, np.int32)
    return np.sort(_narrowed(rows, sums[rows], terms[taken:], limit=limit, slack=slack)).astype(np.int64)


def _narrowed(
    rows: NDArray[np.int32], sums: NDArray[np.float32], terms: Sequence[_Term], *, limit: int, slack: float
) -> NDArray[np.int32]:
    """Those of `rows` that can still be among the best when the rest of the terms is added."""
    left = float(sum(term.bound for term in terms))
    for term in (*terms, None):
        if len(rows) > limit:
            kept = sums + left >= _threshold(sums, limit) - slack
            rows, sums = rows[kept], sums[kept]
        if term is not None:
            sums = sums + weights_at(term.rows, term.weights, rows)
            left -= term.bound
    return rows


def _threshold(sums: NDArray[np.float32], limit: int) -> float:
    """The `limit`-th best sum; what is still to be added can only raise it."""
    return float(np.partition(sums, len(sums) - limit)[len(sums) - limit])


def _term(postings: Postings, number: int) -> _Term:
    rows, weights = postings.of(number)
    return _Term(rows, weights, float(weights.max(initial=0.0)))


def _inside(term: _Term, mask: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    kept = mask[term.rows]
    return term.rows[kept], term.weights[kept]
