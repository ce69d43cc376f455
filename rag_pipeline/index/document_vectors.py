"""One vector a document: the direction of the sum of its chunks' vectors, worked out when it is first asked for.

It is about the document as a whole, whichever of its chunks a filter lets through; whether the document may be seen at
all is decided before, by `rag_pipeline.retrieval.scope`.
"""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.vectors import Vectors

CACHED = 20_000
"""Documents kept; at 384 dimensions they take 30 MB."""


class DocumentVectors:
    """Safe to use from several threads."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._known: dict[tuple[int, int], NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    def of(self, spans: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
        """(documents, dimension), each of unit length, or zero where its chunks cancel out. A span is the half-open
        range of a document's rows."""
        out = np.zeros((len(spans), self._vectors.dimension), np.float32)
        for place, span in enumerate(spans):
            with self._lock:
                known = self._known.get(span)
            if known is None:
                known = self._direction(span)
                with self._lock:
                    if len(self._known) >= CACHED:
                        self._known.clear()
                    self._known[span] = known
            out[place] = known
        return out

    def _direction(self, span: tuple[int, int]) -> NDArray[np.float32]:
        total = self._vectors[slice(*span)].sum(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(total))
        return np.asarray(total / length if length else total, np.float32)
