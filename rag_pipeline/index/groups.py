"""Rows by what they belong to, so that nobody looks through all of them for the few of one section. Pure."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Groups:
    rows: NDArray[np.int64]
    """(rows,): those of group 0, then those of group 1, ascending within each."""
    starts: NDArray[np.int64]
    """(groups + 1,): group i is `rows[starts[i]:starts[i + 1]]`."""

    def of(self, group: int) -> NDArray[np.int64]:
        """Ascending; empty for a number that is no group's."""
        if not 0 <= group < len(self.starts) - 1:
            return self.rows[:0]
        return self.rows[self.starts[group] : self.starts[group + 1]]


def group_rows(numbers: NDArray[np.integer], *, groups: int) -> Groups:
    """`numbers` (rows,) says which of the `groups` each row belongs to; already ascending ones cost little."""
    numbers = np.ascontiguousarray(numbers)
    rows = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[rows], np.arange(groups + 1, dtype=numbers.dtype))
    return Groups(np.asarray(rows, np.int64), np.asarray(starts, np.int64))
