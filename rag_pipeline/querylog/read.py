"""Reading the query log back, for whoever makes questions of it. Never writes and never removes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from rag_pipeline.errors import InvalidSource
from rag_pipeline.querylog.records import LoggedFeedback, LoggedQuery, Record, record_of
from rag_pipeline.querylog.segments import first_day, segments


@dataclass(frozen=True, slots=True)
class LogRows:
    queries: tuple[LoggedQuery, ...]
    """In the order they were asked, as far as one file keeps it."""
    feedback: Mapping[str, tuple[LoggedFeedback, ...]]
    """By query id, oldest first; only of `queries`."""
    unreadable: int
    """Lines that are torn or of another version."""


def read_log(
    folder: Path, *, days: int, collection: str | None = None, since: date | None = None, today: date | None = None
) -> LogRows:
    """Everything of the last `days` days, whether or not a server has removed the rest yet.

    Raises InvalidSource where there is no log, OSError where it can't be read.
    """
    if not folder.is_dir():
        raise InvalidSource(
            f"{folder}: no query log; set query_log = true in the [serving] table, restart the server and let people"
            " ask"
        )
    first = first_day(today or datetime.now(UTC).date(), days)
    if since is not None:
        first = max(first, since)
    queries: dict[str, LoggedQuery] = {}
    feedback: list[LoggedFeedback] = []
    unreadable = 0
    for record in _records(folder, first):
        if record is None:
            unreadable += 1
        elif isinstance(record, LoggedFeedback):
            feedback.append(record)
        elif collection in (None, record.collection):
            queries.setdefault(record.query_id, record)
    about: dict[str, list[LoggedFeedback]] = {}
    for said in feedback:
        if said.query_id in queries:
            about.setdefault(said.query_id, []).append(said)
    return LogRows(tuple(queries.values()), {name: tuple(found) for name, found in about.items()}, unreadable)


def _records(folder: Path, first: date) -> Iterator[Record | None]:
    for segment in segments(folder):
        if segment.day >= first:
            with segment.path.open("rb") as file:
                yield from (record_of(line) for line in file if line.strip())
