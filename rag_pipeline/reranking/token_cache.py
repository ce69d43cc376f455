"""Token vectors of the passages that were read last, bounded by bytes, in memory only."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

Key = tuple[int, ...]
"""The token ids themselves: equal ids give equal vectors, whatever document they stand in."""
TokenRows = NDArray[np.float16]
OVERHEAD = 64
"""Bytes of a token id in a key and its share of the book-keeping, about."""


class TokenVectorCache:
    """The least recently used go first. Safe to share between threads; what it hands out must not be written to."""

    def __init__(self, limit: int) -> None:
        """`limit` in bytes; 0 keeps nothing."""
        self.limit = limit
        self.size = 0
        self.hits = 0
        self.misses = 0
        self._kept: OrderedDict[Key, TokenRows] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, keys: Iterable[Key]) -> dict[Key, TokenRows]:
        """Those of `keys` that are kept; each distinct key counts once, as a hit or a miss."""
        found = {}
        with self._lock:
            for key in dict.fromkeys(keys):
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[key] = self._kept[key]
                    self.hits += 1
                else:
                    self.misses += 1
        return found

    def keep(self, made: Mapping[Key, TokenRows]) -> None:
        with self._lock:
            for key, rows in made.items():
                if key not in self._kept and _bytes(key, rows) <= self.limit:
                    self._kept[key] = rows
                    self.size += _bytes(key, rows)
            while self.size > self.limit:
                self.size -= _bytes(*self._kept.popitem(last=False))


def _bytes(key: Key, rows: TokenRows) -> int:
    return rows.nbytes + OVERHEAD * len(key)
