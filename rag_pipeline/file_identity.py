"""Telling cheaply whether a file is still the one that was looked at before.

An identity is what the file system says of a file; equal identities mean an unchanged file only where the file was left
alone for a while before the first look: within one tick of the clock a file can change and keep every number (git calls
this racy). Nothing here outlives the process; what is kept between processes is bound to contents.
"""

import hashlib
import time
from pathlib import Path

Identity = tuple[int, int, int, int, int]
"""Device, inode, bytes, and the nanoseconds at which contents and inode changed last."""
RACY_SECONDS = 2.0
"""A file that changed later than this before it was looked at may change again unseen."""
_known: dict[tuple[Path, Identity], str] = {}
_MOST = 256


def identity(path: Path) -> Identity:
    """Raises OSError."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_settled(found: Identity, *, now_ns: int | None = None) -> bool:
    """Whether a change after this moment would show; times in the future never settle."""
    now = time.time_ns() if now_ns is None else now_ns
    return max(found[3], found[4]) < now - int(RACY_SECONDS * 1e9)


def content_hash(path: Path) -> str:
    """sha256 of the file, hex; read again by this process only when its identity differs or isn't settled."""
    key = path.absolute(), identity(path)
    if key in _known and is_settled(key[1]):
        return _known[key]
    settled = is_settled(key[1])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if settled and identity(path) == key[1]:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = digest
    return digest
