"""How often each chunk has each term, counted batch by batch; what is counted waits in a temporary file.

So the memory taken is that of the vocabulary and one batch, however many chunks there are. Scores, and the order that
postings lie in, are `lexical.py`'s.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

import numpy as np
from numpy.typing import NDArray

ROW_BITS = 32


class TermCounts:
    """A context manager. `add` the chunks in the order of their rows, then read the rest."""

    def __init__(self, folder: Path) -> None:
        """The temporary file lies in `folder` and has no name there."""
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - closed by __exit__
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__
        self._lengths: list[int] = []
        self._batches = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, chunks: Sequence[Sequence[str]]) -> None:
        """The tokens of the next chunks, none empty. Raises OSError (disk full)."""
        lengths = np.array([len(tokens) for tokens in chunks], np.int64)
        rows = np.arange(len(self._lengths), len(self._lengths) + len(chunks))
        seen = map(self._numbers.__getitem__, chain.from_iterable(chunks))
        terms = np.fromiter(seen, np.int64, int(lengths.sum()))
        pairs, times = np.unique(terms << ROW_BITS | np.repeat(rows, lengths), return_counts=True)
        np.save(self._file, np.stack([pairs >> ROW_BITS, pairs & (1 << ROW_BITS) - 1, times]).astype(np.int32))
        self._lengths += lengths.tolist()
        self._batches += 1

    @property
    def terms(self) -> list[str]:
        """In the order of their first occurrence, which is their number."""
        return list(self._numbers)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each chunk, (chunks,)."""
        return np.array(self._lengths, np.int64)

    def frequencies(self) -> NDArray[np.int64]:
        """How many chunks have each term, (terms,)."""
        total = np.zeros(len(self._numbers), np.int64)
        for term, _, _ in self.batches():
            total += np.bincount(term, minlength=len(total))
        return total

    def batches(self) -> Iterator[NDArray[np.int32]]:
        """(3, n) a batch as it was added: a term's number, a chunk's row, how often; by number, then by row."""
        self._file.seek(0)
        for _ in range(self._batches):
            yield np.load(self._file)
