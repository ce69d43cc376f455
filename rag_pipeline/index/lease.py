"""Locks on files that end with their process: readers hold a build, builders hold their temporary folder.

The lock is the kernel's `flock`, so nothing is left held by a process that died, however it died. Take the lease first,
then open the build: whoever removes a build does it under the exclusive lock. The files are empty; only the holder of
the exclusive lock may remove one, and who waited for it meanwhile locks the file that takes its place.
"""

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType


class Lease:
    """A held lock; released by `close`, by leaving a `with` block, or by the end of the process."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @property
    def held(self) -> bool:
        """False after `close`, and where a read-only file system has no lock file to hold."""
        return self._descriptor is not None

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> "Lease":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def hold(path: Path) -> Lease:
    """A shared lock: any number of readers. Waits while somebody has the exclusive one. Raises OSError.

    On a read-only file system without the file the lease is not `held`: nothing can be removed through that mount, and
    what is open already stays readable.
    """
    try:
        return _lock(path, fcntl.LOCK_SH)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES):
            return Lease(None)
        raise


def hold_exclusive(path: Path) -> Lease:
    """The exclusive lock; waits for every other holder."""
    return _lock(path, fcntl.LOCK_EX)


def try_exclusive(path: Path) -> Lease | None:
    """The exclusive lock, or None when somebody holds it now."""
    try:
        return _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None


def is_held(path: Path) -> bool:
    """Whether any process, this one included, holds a lock on the file."""
    if not path.exists():
        return False
    lease = try_exclusive(path)
    if lease is None:
        return True
    lease.close()
    return False


def _lock(path: Path, how: int) -> Lease:
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, how)
            if _is_at(descriptor, path):
                return Lease(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # removed while we waited: a lock on a nameless file would protect nothing


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        # A reader may see the data directory read-only; a lock needs no right to write.
        if error.errno in (errno.EROFS, errno.EACCES):
            return os.open(path, os.O_RDONLY)
        raise


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one that `path` names."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
