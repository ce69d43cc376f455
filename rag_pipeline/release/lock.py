"""The two locks of a collection: one build at a time, one change of CURRENT at a time.

A lock is an exclusive `flock`; the kernel frees it when its holder ends, a kill included. The file holds who took it,
for the message only. Lock files are never deleted: a deleted one could be locked by two. A thread that holds a lock may
take it again, so that a step holding the build lock can collect what it replaced.
"""

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rag_pipeline.errors import BuildBusy
from rag_pipeline.paths import CollectionPaths

POLL_SECONDS = 0.05
_mine = threading.local()


@contextmanager
def build_lock(paths: CollectionPaths, *, wait_seconds: float | None) -> Iterator[None]:
    """Hold the collection's build lock. `wait_seconds`: 0 = don't wait, None = as long as it takes.

    Raises BuildBusy naming the holder.
    """
    with file_lock(paths.build_lock, "building", wait_seconds):
        yield


@contextmanager
def publish_lock(paths: CollectionPaths, *, wait_seconds: float | None = 30.0) -> Iterator[None]:
    """Hold the lock under which CURRENT, releases and their history change. Raises BuildBusy naming the holder."""
    with file_lock(paths.publish_lock, "publishing", wait_seconds):
        yield


@contextmanager
def file_lock(path: Path, what: str, wait_seconds: float | None) -> Iterator[None]:
    """Hold the lock that `path` stands for; `what` its holder does, for the message. Raises BuildBusy."""
    mine: set[Path] = _mine.__dict__.setdefault("paths", set())
    key = path.absolute()
    if key in mine:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _wait(descriptor, path, what, wait_seconds)
        _sign(descriptor)
        mine.add(key)
        yield
    finally:
        mine.discard(key)
        os.close(descriptor)


def _wait(descriptor: int, path: Path, what: str, wait_seconds: float | None) -> None:
    deadline = None if wait_seconds is None else time.monotonic() + wait_seconds
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if deadline is not None and time.monotonic() >= deadline:
                raise BuildBusy(
                    f"{path.parent.name}: {_holder(path)} is {what} (waited {wait_seconds:g} s); "
                    "try again when it has ended"
                ) from None
        time.sleep(POLL_SECONDS)


def _sign(descriptor: int) -> None:
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def _holder(path: Path) -> str:
    """Who signed the lock; they may be about to sign, so anything unreadable is "another process"."""
    try:
        holder = json.loads(path.read_bytes())
        return f"process {holder['pid']} on {holder['host']} (since {holder['started']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
