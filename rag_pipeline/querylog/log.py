"""Writing the query log and finding one answer in it again. A record that could not be written is a value, no error."""

import fcntl
import mmap
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rag_pipeline.errors import StorageUnavailable
from rag_pipeline.querylog.asker import asker_key, asker_of
from rag_pipeline.querylog.records import (
    LoggedFeedback,
    LoggedQuery,
    Rating,
    Record,
    day_of,
    head_of,
    line_of,
    query_record,
    record_of,
    stamp,
)
from rag_pipeline.querylog.segments import append, first_day, prune, segment_path
from rag_pipeline.schema import Principal, RetrievalResult

MOST_LINE = 1_000_000
"""Bytes of one record; a longer one is not written."""
PRUNE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Written:
    query_id: str | None
    """None where the record was not written."""
    failure: str | None = None
    """"busy", "full", "too_large", "invalid" or "os_error_<number>"."""


class QueryLog:
    """Safe to use from several threads, and beside other processes with the same folder.

    Makes the folder and its key. Raises InvalidSettings for a key that can't be used, StorageUnavailable.
    """

    def __init__(
        self,
        folder: Path,
        *,
        days: int,
        most_bytes: int,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.folder = folder
        self._days = days
        self._most = most_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._pruned = 0.0
        self._pruned_day = clock().date()
        self._others = 0
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            key = asker_key(folder, environ=environ, make=True)
            self.prune()
        except OSError as error:
            raise StorageUnavailable.of(error) from error
        assert key is not None
        self._key = key

    def asker(self, principal: Principal | None) -> str:
        return asker_of(principal, self._key)

    def query(
        self, result: RetrievalResult, *, principal: Principal | None, filters: Mapping[str, Any] | None = None
    ) -> Written:
        """Record one answered question."""
        at = self._clock()
        return self._append(query_record(result, asker=self.asker(principal), at=at, filters=filters), at)

    def feedback(
        self, query_id: str, rating: Rating, *, rank: int | None = None, comment: str | None = None
    ) -> Written:
        """Record what was said about a question found by `find`; nothing is checked here."""
        at = self._clock()
        return self._append(LoggedFeedback(query_id, stamp(at), rating, rank, comment), at)

    def find(self, query_id: str) -> LoggedQuery | None:
        """None where no such question is kept. Raises OSError."""
        day = day_of(query_id)
        if day is None or day < first_day(self._clock().date(), self._days):
            return None
        try:
            with segment_path(self.folder, day).open("rb") as file:
                # A writer that runs out of space cuts its half line off; reading a mapped file that is cut kills us.
                fcntl.flock(file.fileno(), fcntl.LOCK_SH)
                if not os.fstat(file.fileno()).st_size:
                    return None
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                    at = content.find(head_of(query_id))
                    if at < 0:
                        return None
                    content.seek(at)
                    found = record_of(content.readline())
        except FileNotFoundError:
            return None
        return found if isinstance(found, LoggedQuery) else None

    def prune(self, *, room: int = 0) -> None:
        """Remove what is too old, and as much as is needed for `room` bytes. Raises OSError."""
        today = self._clock().date()
        others = prune(self.folder, today=today, days=self._days, most_bytes=self._most, room=room)
        with self._lock:
            self._others, self._pruned, self._pruned_day = others, time.monotonic(), today

    def _append(self, record: Record, at: datetime) -> Written:
        try:
            line = line_of(record)
        except (TypeError, ValueError):
            return Written(None, "invalid")
        if len(line) > MOST_LINE:
            return Written(None, "too_large")
        try:
            failure = self._written(line, at)
        except OSError as error:
            return Written(None, f"os_error_{error.errno}")
        return Written(None if failure else record.query_id, failure)

    def _written(self, line: bytes, at: datetime) -> str | None:
        if self._pruned_day != at.date() or time.monotonic() - self._pruned > PRUNE_SECONDS:
            self.prune()
        path = segment_path(self.folder, at.date())
        try:
            failure = append(path, line, most_bytes=self._most - self._others)
        except FileNotFoundError:  # someone removed the folder
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            failure = append(path, line, most_bytes=self._most - self._others)
        if failure == "full" and self._others:
            self.prune(room=len(line) + 1)
            failure = append(path, line, most_bytes=self._most - self._others)
        return failure
