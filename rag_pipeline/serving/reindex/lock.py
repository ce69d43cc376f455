"""One re-index a collection: a lock that the run's own process holds, so that it outlives the server."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def take(path: Path) -> int | None:
    """A descriptor that holds the lock until it, and every copy a child inherited, is closed; None where it is held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_free(path: Path) -> bool:
    descriptor = take(path)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Wait for the lock and keep it, against other processes and other threads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
