"""What strategies share about one question, computed once: both legs' candidates.

Answers are equal to the bit, because only whole results of pure look-ups are kept. Times stay those of a strategy that
runs alone: what was kept is charged to every strategy with the time it took once.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.dense import nearest
from rag_pipeline.retrieval.legs import Legs
from rag_pipeline.retrieval.lexical import bm25
from rag_pipeline.retrieval.rank import Rows
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.scope import Mask
from rag_pipeline.schema import RetrievalResult

KEPT = 64
"""Candidates of one leg that are kept: more than the strategies of one question ask for."""
KEPT_BYTES = 256 * 2**20
"""Of one leg: masks are as long as the index, so that a number of them alone is no bound."""
T = TypeVar("T")


class Sharing:
    """`opened` answers like the release it was made from. For one thread; the release stays open as long."""

    def __init__(self, opened: OpenRelease) -> None:
        self._source = opened  # its build is closed when nobody refers to it any more
        self._saved: dict[str, float] = {}
        self._vector_ms: list[float] = []
        self._nearest: _Kept[tuple[Rows, tuple[str, ...]]] = _Kept(KEPT, KEPT_BYTES)
        self._bm25: _Kept[tuple[Rows, tuple[str, ...]]] = _Kept(KEPT, KEPT_BYTES)
        legs = Legs(nearest=self._shared_nearest, bm25=self._shared_bm25)
        self.opened = OpenRelease(opened.release, opened.index, legs)

    def alone(self, result: RetrievalResult) -> RetrievalResult:
        """The result of the last call with the times of a call that shares nothing.

        A query vector that was kept is charged at the median of those that were made.
        """
        saved, self._saved = self._saved, {}
        timings = dict(result.timings_ms)
        kept = result.cached.get("vector", 0)
        if "embed" in timings and not kept and "transform" not in timings:
            self._vector_ms.append(timings["embed"])
        elif kept and self._vector_ms:
            saved["embed"] = kept * median(self._vector_ms)
        for stage, milliseconds in saved.items():
            timings[stage] = timings.get(stage, 0.0) + milliseconds
            timings["total"] = timings.get("total", 0.0) + milliseconds
        return replace(result, timings_ms=timings)

    def _charge(self, stage: str, milliseconds: float) -> None:
        self._saved[stage] = self._saved.get(stage, 0.0) + milliseconds

    def _shared_nearest(
        self, index: Index, vector: NDArray[np.float32], *, mask: Mask, **options: Any
    ) -> tuple[Rows, tuple[str, ...]]:
        key = (vector.tobytes(), _bytes(mask), tuple(sorted(options.items())))
        found, saved = self._nearest.get(key, lambda: nearest(index, vector, mask=mask, **options))
        self._charge("vector", saved)
        return found

    def _shared_bm25(self, index: Index, text: str, *, mask: Mask, **options: Any) -> tuple[Rows, tuple[str, ...]]:
        key = (text, _bytes(mask), tuple(sorted(options.items())))
        found, saved = self._bm25.get(key, lambda: bm25(index, text, mask=mask, **options))
        self._charge("bm25", saved)
        return found


class _Kept(Generic[T]):
    """The last results by key, each with the milliseconds it took; the very last one however large it is."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._found: OrderedDict[Hashable, tuple[T, float]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> tuple[T, float]:
        """The result, and the milliseconds saved by keeping it: 0 where it had to be made."""
        if key in self._found:
            self._found.move_to_end(key)
            return self._found[key]
        began = perf_counter()
        made = make()
        self._found[key] = (made, (perf_counter() - began) * 1000)
        self._bytes += _size(key) + _size(made)
        while len(self._found) > 1 and (len(self._found) > self._most or self._bytes > self._most_bytes):
            old, (gone, _) = self._found.popitem(last=False)
            self._bytes -= _size(old) + _size(gone)
        return made, 0.0


def _size(value: object) -> int:
    """Bytes of the arrays in a key or a result; the rest is small."""
    if isinstance(value, tuple):
        return sum(map(_size, value))
    if isinstance(value, np.ndarray):
        return value.nbytes
    return len(value) if isinstance(value, bytes) else 0


def _bytes(mask: Mask) -> bytes | None:
    return None if mask is None else mask.tobytes()
