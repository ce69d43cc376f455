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
            span = slice(int(self.indptr[number]), int(self.indptr[number + 1]))
            total[self.rows[span]] += self.weights[span]  # a chunk occurs once a term
        return total

    def best_weights(self, numbers: NDArray[np.int64], spans: NDArray[np.int64]) -> NDArray[np.float64]:
        """Per half-open range of rows, (spans,): the sum over the terms of a term's highest weight in that range."""
        total = np.zeros(len(spans), np.float64)
        for number in numbers:
            held = slice(int(self.indptr[number]), int(self.indptr[number + 1]))
            rows, weights = self.rows[held], self.weights[held]
            begin, end = np.searchsorted(rows, spans[:, 0]), np.searchsorted(rows, spans[:, 1])
            some = begin < end
            # reduceat takes (begin, end) pairs from every other place; an end past the last element must not be named.
            pairs = np.stack([begin[some], end[some]], axis=1).ravel()
            if len(pairs):
                padded = np.append(weights, np.float32(0.0)) if pairs[-1] == len(weights) else weights
                total[some] += np.maximum.reduceat(padded, pairs)[::2]
        return total

    def rows_of(self, number: int) -> NDArray[np.int32]:
        """The chunks that hold a term, ascending."""
        return self.rows[int(self.indptr[number]) : int(self.indptr[number + 1])]


def open_postings(folder: Path, *, chunks: int) -> Postings:
    """Memory-mapped. Raises OSError, ValueError."""
    arrays = {
        name: open_array(folder / POSTINGS / f"{name}.npy") for name in ("term_hash", "indptr", "rows", "weights")
    }
    return Postings(**arrays, chunks=chunks)
