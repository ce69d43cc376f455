"""New arrays on disk, with their space reserved first.

A memory-mapped file is sparse until it is written to; on a full disk that write kills the process with a bus error,
which nobody can catch. Reserving the space turns it into an OSError before the first byte.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike


def new_array(path: Path, *, dtype: DTypeLike, shape: tuple[int, ...]) -> np.memmap[Any, Any]:
    """An `.npy` file to fill through the returned map; no extent may be 0. Raises OSError when the disk is full."""
    array = open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array
