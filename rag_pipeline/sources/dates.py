"""Dates as people write them in front matter, to one form: ISO 8601 in UTC with a Z."""

import datetime as dt
from email.utils import parsedate_to_datetime
from typing import Any

_FORMATS = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%Y-%m", "%Y", "%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%d %b %Y")


def iso_utc(value: Any, *, key: str = "created") -> str | None:
    """ "2026-03-01T00:00:00Z", or None where the value is no date. A time without a zone is UTC, a date midnight.

    A table may hold several dates (`date: {created: ..., updated: ...}`); `key` names the one that is meant.
    """
    if isinstance(value, dict):
        value = value.get(key)
    if isinstance(value, str):
        value = _parsed(value.strip())
    elif isinstance(value, int) and not isinstance(value, bool) and 1000 <= value <= 9999:
        value = dt.datetime(value, 1, 1)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, dt.datetime):
        return None
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.UTC)
    try:
        moment: dt.datetime = value.astimezone(dt.UTC)
        return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
    except OverflowError:
        return None


def _parsed(text: str) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in _FORMATS:
        try:
            return dt.datetime.strptime(text, form)
        except ValueError:
            continue
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
