"""The files of the log: one a day, as `2026-09-12.jsonl`, appended to under a lock and removed as a whole.

Nothing here knows what a line means.
"""

import fcntl
import os
import re
import time
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.jsonl")
LOCK_SECONDS = 0.05
"""A question waits no longer than this for another writer."""

Failure = Literal["busy", "full"]


@dataclass(frozen=True, slots=True)
class Segment:
    day: date
    path: Path


def segment_path(folder: Path, day: date) -> Path:
    return folder / f"{day.isoformat()}.jsonl"


def segments(folder: Path) -> tuple[Segment, ...]:
    """Oldest first; files of another name are not ours."""
    if not folder.is_dir():
        return ()
    found = []
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        try:
            day = date.fromisoformat(match[1]) if match else None
        except ValueError:
            day = None
        if day is not None:
            found.append(Segment(day, path))
    return tuple(sorted(found, key=lambda segment: segment.day))


def first_day(today: date, days: int) -> date:
    """The oldest day that is kept: today is the first of `days`."""
    return today - timedelta(days=days - 1)


def prune(folder: Path, *, today: date, days: int, most_bytes: int, room: int = 0) -> int:
    """Remove segments older than `days`, then the oldest ones until `room` more bytes fit into `most_bytes`.

    Today's is never removed. Returns the bytes of the other days. Raises OSError.
    """
    sizes: dict[Segment, int] = {}
    for segment in segments(folder):
        try:
            sizes[segment] = segment.path.stat().st_size
        except FileNotFoundError:  # another process prunes too
            continue
    total = sum(sizes.values())
    for segment in list(sizes):  # oldest first
        expired = segment.day < first_day(today, days)
        if segment.day != today and (expired or total + room > most_bytes):
            segment.path.unlink(missing_ok=True)
            total -= sizes.pop(segment)
    return sum(size for segment, size in sizes.items() if segment.day != today)


def append(path: Path, line: bytes, *, most_bytes: int) -> Failure | None:
    """Add one whole line, or nothing. Readable by its owner alone.

    "full" where the file would grow beyond `most_bytes`, "busy" where another writer holds it too long. Not flushed to
    the disk: a power cut may lose the last lines, a crash of the process none. Raises OSError.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        if not _lock(descriptor):
            return "busy"
        size = os.fstat(descriptor).st_size
        # A power cut may have left half a line; it must not swallow ours.
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = b"\n" + line if torn else line
        if size + len(data) > most_bytes:
            return "full"
        _write(descriptor, data, size)
        return None
    finally:
        os.close(descriptor)  # gives the lock back


def _write(descriptor: int, data: bytes, size: int) -> None:
    try:
        written = os.write(descriptor, data)
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def _lock(descriptor: int) -> bool:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
