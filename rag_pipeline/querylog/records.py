"""What the query log holds, and its form as lines: one JSON object each. No I/O.

A record never holds who asked: only `asker`, a keyed hash (`asker.py`). Nor does it hold any text of a document.
"""

import json
import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from rag_pipeline.schema import RetrievalResult

VERSION = 1
QUERY_ID = r"^[0-9]{8}-[0-9a-f]{32}$"
Rating = Literal["useful", "not_useful"]


@dataclass(frozen=True, slots=True)
class LoggedResult:
    """One result by name: which passage of which document, in the release that answered."""

    rank: int
    doc_id: str
    section_id: str
    start: int
    end: int
    score: float | None


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    query_id: str
    time: str
    """ISO 8601, UTC."""
    asker: str
    query: str
    collection: str
    release_id: str
    strategy: str
    context: str | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)
    results: tuple[LoggedResult, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    markers: tuple[str, ...] = ()
    empty_reason: str | None = None


@dataclass(frozen=True, slots=True)
class LoggedFeedback:
    query_id: str
    time: str
    rating: Rating
    rank: int | None = None
    """The result that the rating is about; None: all of them together."""
    comment: str | None = None


Record = LoggedQuery | LoggedFeedback
_KINDS: Mapping[str, TypeAdapter[Any]] = {
    "query": TypeAdapter(LoggedQuery),
    "feedback": TypeAdapter(LoggedFeedback),
}

_FIELDS = {kind: tuple(f.name for f in fields(kind)) for kind in (LoggedQuery, LoggedFeedback, LoggedResult)}


def query_record(
    result: RetrievalResult, *, asker: str, at: datetime, filters: Mapping[str, Any] | None = None
) -> LoggedQuery:
    """The record of one answered question; its id begins with the day, which names the segment it is in."""
    return LoggedQuery(
        query_id=f"{at:%Y%m%d}-{secrets.token_hex(16)}",
        time=stamp(at),
        asker=asker,
        query=result.query,
        collection=result.collection,
        release_id=result.release_id,
        strategy=result.strategy,
        context=result.context,
        filters=dict(filters or {}),
        results=tuple(
            LoggedResult(h.rank, h.doc_id, h.section_id, h.start, h.end, _finite(h.score)) for h in result.hits
        ),
        timings_ms={stage: round(ms, 3) for stage, ms in result.timings_ms.items() if math.isfinite(ms)},
        markers=result.markers,
        empty_reason=result.empty_reason,
    )


def line_of(record: Record) -> bytes:
    """With its line end. Raises ValueError where a value has no place in JSON."""
    kind = "query" if isinstance(record, LoggedQuery) else "feedback"
    # First kind and id, so that `head_of` finds a record without parsing the others.
    value = {"kind": kind, "query_id": record.query_id, "v": VERSION, **_shallow(record)}
    if isinstance(record, LoggedQuery):
        value["results"] = [_shallow(result) for result in record.results]
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def head_of(query_id: str) -> bytes:
    """How the line of that query begins. Quotes inside texts are escaped, so no text can look like it."""
    return b'{"kind":"query","query_id":"' + query_id.encode("ascii") + b'",'


def record_of(line: bytes) -> Record | None:
    """None for a line that is torn, of another version or no record."""
    try:
        value = json.loads(line)
        if not isinstance(value, dict) or value.pop("v", None) != VERSION:
            return None
        kind = _KINDS.get(value.pop("kind", None))
        found: Record | None = kind.validate_python(value) if kind is not None else None
        return found
    except (ValueError, RecursionError, ValidationError, TypeError):
        return None


def day_of(query_id: str) -> date | None:
    """The day in the id; None where it is no id."""
    if re.fullmatch(QUERY_ID, query_id) is None:
        return None
    try:
        return date(int(query_id[:4]), int(query_id[4:6]), int(query_id[6:8]))
    except ValueError:
        return None


def stamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shallow(value: Record | LoggedResult) -> dict[str, Any]:
    """`dataclasses.asdict` copies every value, which takes longer than writing the line."""
    return {name: getattr(value, name) for name in _FIELDS[type(value)]}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
