"""sha256 of files, remembered while path, size and modification time stay the same."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path


def file_sha256(path: Path) -> str:
    """Hex digest; 90 MB take about 0.1 s, so nothing is remembered beyond the process."""
    status = path.stat()
    return _sha256(str(path), status.st_size, status.st_mtime_ns)


def files_sha256(folder: Path, files: Iterable[Path]) -> str:
    """One digest for several files: the file's own for a single one, else over the sorted names and digests."""
    digests = sorted((path.relative_to(folder).as_posix(), file_sha256(path)) for path in files)
    if len(digests) == 1:
        return digests[0][1]
    return hashlib.sha256("".join(f"{name} {digest}\n" for name, digest in digests).encode()).hexdigest()


@lru_cache(maxsize=64)
def _sha256(path: str, _size: int, _modified_ns: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
