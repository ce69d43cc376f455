"""Reading the lexical sidecars: BM25 scores of every chunk from memory-mapped arrays, under a mask."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.dense import open_array
from rag_pipeline.index.files import POSTINGS

MAX_TERMS = 256
"""A longer query is scored by its rarest terms: the others change little and cost the most."""


def term_hashes(terms: Sequence[str]) -> NDArray[np.uint64]:
    """blake2b, 8 bytes, big-endian: one number a term, the same in every process."""
    digests = b"".join(hashlib.blake2b(term.encode("utf-8"), digest_size=8).digest() for term in terms)
    return np.frombuffer(digests, ">u8").astype(np.uint64)


@dataclass(frozen=True, slots=True)
class Postings:
    term_hash: NDArray[np.uint64]
    """Sorted; (terms,)."""
    indptr: NDArray[np.int64]
    """(terms + 1,): postings of term i are `indptr[i]:indptr[i + 1]`."""
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]
    chunks: int

    def term_numbers(self, tokens: Iterable[str]) -> NDArray[np.int64]:
        """Numbers of the distinct tokens that the index knows, ascending."""
        wanted = np.unique(term_hashes(list(dict.fromkeys(tokens))))
        at = np.searchsorted(self.term_hash, wanted)
        at = at[at < len(self.term_hash)] if not len(self.term_hash) else np.minimum(at, len(self.term_hash) - 1)
        return at[self.term_hash[at] == wanted] if len(at) else at

    def rarest(self, numbers: NDArray[np.int64], *, limit: int = MAX_TERMS) -> NDArray[np.int64]:
        """At most `limit` of the terms, those in the fewest chunks."""
        if len(numbers) <= limit:
            return numbers
        frequency = self.indptr[numbers + 1] - self.indptr[numbers]
        return np.sort(numbers[np.lexsort((numbers, frequency))[:limit]])

    def scores(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Per chunk, (chunks,): the sum of its weights for the terms; 0 where it has none of them."""
        total = np.zeros(self.chunks, np.float64)
        for number in numbers:
            rows, weights = self.of(int(number))
            total[rows] += weights  # a chunk occurs once a term
        return total

    def scores_of(self, numbers: NDArray[np.int64], rows: NDArray[np.integer]) -> NDArray[np.float64]:
        """The same of some rows only, (rows,), to the bit: a look-up in every term's postings."""
        total = np.zeros(len(rows), np.float64)
        sought = np.asarray(rows, np.int32)  # the postings' own type: another would have numpy convert all of them
        for number in numbers:
            total += weights_at(*self.of(int(number)), sought)
        return total

    def best_weights(self, numbers: NDArray[np.int64], spans: NDArray[np.int64]) -> NDArray[np.float64]:
        """Per half-open range of rows, (spans,): the sum over the terms of a term's highest weight in that range."""
        total = np.zeros(len(spans), np.float64)
        begins, ends = np.asarray(spans[:, 0], np.int32), np.asarray(spans[:, 1], np.int32)
        for number in numbers:
            rows, weights = self.of(int(number))
            begin, end = np.searchsorted(rows, begins), np.searchsorted(rows, ends)
            some = begin < end
            lengths = (end - begin)[some]
            if len(lengths):
                starts = np.cumsum(lengths) - lengths
                inside = np.repeat(begin[some] - starts, lengths) + np.arange(lengths.sum())
                total[some] += np.maximum.reduceat(weights[inside], starts)
        return total

    def of(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """(the chunks that hold a term, ascending; the weight of each)."""
        held = slice(int(self.indptr[number]), int(self.indptr[number + 1]))
        return self.rows[held], self.weights[held]

    def rows_of(self, number: int) -> NDArray[np.int32]:
        """The chunks that hold a term, ascending."""
        return self.of(number)[0]

    def holds(self, number: int, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which of the rows hold a term, (rows,)."""
        return _found(self.rows_of(number), np.asarray(rows, np.int32))[1]


def weights_at(rows: NDArray[np.int32], weights: NDArray[np.float32], sought: NDArray[np.int32]) -> NDArray[np.float32]:
    """The weight of each sought row in one term's postings, 0 where it holds none; (sought,)."""
    at, held = _found(rows, sought)
    return np.where(held, weights[at], np.float32(0.0)) if len(rows) else np.zeros(len(sought), np.float32)


def _found(rows: NDArray[np.int32], sought: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(a place in the ascending `rows`, whether the sought row stands there)."""
    at = np.minimum(np.searchsorted(rows, sought), max(0, len(rows) - 1))
    return at, rows[at] == sought if len(rows) else np.zeros(len(sought), np.bool_)


def open_postings(folder: Path, *, chunks: int) -> Postings:
    """Memory-mapped. Raises OSError, ValueError."""
    arrays = {
        name: open_array(folder / POSTINGS / f"{name}.npy") for name in ("term_hash", "indptr", "rows", "weights")
    }
    return Postings(**arrays, chunks=chunks)
