"""Which part of a long passage a model should read: the window of tokens where the query's words are. Pure."""

from collections.abc import Sequence

import numpy as np


def best_window(query: Sequence[int], passage: Sequence[int], *, size: int) -> tuple[int, int]:
    """Half-open token range of at most `size`: the one that holds the most of the query's token ids.

    A token id counts `1 / its occurrences in the passage`, so that the rare one decides; repeats of the query's count
    once. Where several windows hold as much, the middle one of the first run of them, so that words stand before and
    behind the match; where the query has no token in the passage, the beginning.
    """
    if len(passage) <= size:
        return 0, len(passage)
    tokens = np.asarray(passage, np.int64)
    hits = np.isin(tokens, np.asarray(sorted(set(query)), np.int64))
    if not hits.any():
        return 0, size
    _, inverse, counts = np.unique(tokens, return_inverse=True, return_counts=True)
    gain = np.where(hits, 1.0 / counts[inverse], 0.0)
    sums = np.concatenate([[0.0], np.cumsum(gain)])
    held = np.round(sums[size:] - sums[:-size], 9)
    best = np.flatnonzero(held == held.max())
    run = best[: int(np.argmax(np.diff(best, append=best[-1] + 2) > 1)) + 1]
    start = int(run[len(run) // 2])
    return start, start + size
