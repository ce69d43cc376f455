"""Bytes of a file or folder, for listings and for what gc reports."""

import os
from pathlib import Path


def size_of(path: Path) -> int:
    """Sum of the sizes of all files at or below `path`; links are not followed, what vanishes meanwhile counts 0."""
    if path.is_dir() and not path.is_symlink():
        return sum(_size(Path(folder) / name) for folder, _, names in os.walk(path) for name in names)
    return _size(path)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
