"""Periods named in a query, given today: "last month", "since 2026-03", "between 1 May and 3 June 2026". Pure.

A month without a year is the latest one that has begun; weeks begin on Monday. Bounds are days in UTC, both included.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import regex

_NAMES = "january|february|march|april|may|june|july|august|september|october|november|december"
_SHORT = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_MONTH = rf"(?:{_NAMES}|{_SHORT}|sept)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_AT = (
    rf"(?:{_YEAR}-\d\d-\d\d|{_YEAR}-\d\d|{_YEAR}\s?q[1-4]|q[1-4]\s{_YEAR}|{_DAY}\s{_MONTH}(?:,?\s{_YEAR})?"
    rf"|{_MONTH}\s{_DAY}(?:,?\s{_YEAR})?(?!\d)|{_MONTH}(?:\s{_YEAR})?|{_YEAR}|today|yesterday"
    r"|(?:last|this)\s(?:week|month|quarter|year))"
)
_CHANGED = r"(?:chang(?:e|es|ed)|updat(?:e|es|ed)|edit(?:s|ed)?|modified|new|added|recent|news)"
_CREATED = r"(?:created|written|published|authored)"


@dataclass(frozen=True, slots=True)
class Dated:
    start: int
    end: int
    """Where the phrase stands in the query."""
    key: str
    """"created" or "updated"."""
    bounds: tuple[tuple[str, str], ...]
    """`(("gte", "2026-02-01"), ("lte", "2026-02-28"))`."""


Period = tuple[date, date]
Bounds = tuple[tuple[str, date], ...]


def dated(query: str, *, today: date) -> Dated | None:
    """The first phrase that names a period; None where none does, or where it names no real day."""
    for pattern, bounds_of in _RULES:
        for match in pattern.finditer(query):
            bounds = bounds_of(match, today)
            if bounds:
                key = "created" if regex.search(rf"(?i)\b{_CREATED}\b", query) else "updated"
                shown = tuple((operator, day.isoformat()) for operator, day in bounds)
                return Dated(match.start(), match.end(), key, shown)
    return None


def period(text: str, *, today: date) -> Period | None:
    """First and last day of what is named."""
    words = text.lower().replace(",", " ").split()
    try:
        return next(_periods(" ".join(words), words, today), None)
    except (ValueError, OverflowError):
        return None


def _periods(text: str, words: list[str], today: date) -> Iterator[Period]:
    if text in ("today", "yesterday"):
        day = today - timedelta(days=text == "yesterday")
        yield day, day
    elif words[0] in ("last", "this"):
        yield _calendar(words[1], back=words[0] == "last", today=today)
    elif regex.fullmatch(rf"{_YEAR}-\d\d-\d\d", text):
        day = date.fromisoformat(text)
        yield day, day
    elif regex.fullmatch(rf"{_YEAR}-\d\d", text):
        yield _months(int(text[:4]), int(text[5:]), 1)
    elif regex.fullmatch(_YEAR, text):
        yield _months(int(text), 1, 12)
    elif quarter := regex.fullmatch(rf"(?:({_YEAR})\s?)?q([1-4])(?:\s({_YEAR}))?", text):
        yield _months(int(quarter[1] or quarter[3]), int(quarter[2]) * 3 - 2, 3)
    else:
        yield from _named(words, today)


def _named(words: list[str], today: date) -> Iterator[Period]:
    """ "march", "march 2026", "1 march", "march 1st 2026"."""
    month = next((number for word in words if (number := _month(word))), 0)
    numbers = [int(regex.sub(r"\D", "", word)) for word in words if word[0].isdigit()]
    days, years = [n for n in numbers if n <= 31], [n for n in numbers if n > 31]
    if not month:
        return
    day = days[0] if days else 0
    year = years[0] if years else today.year - (date(today.year, month, day or 1) > today)
    if day:
        yield date(year, month, day), date(year, month, day)
    else:
        yield _months(year, month, 1)


def _month(word: str) -> int:
    return next((number for number, name in enumerate(_SHORT.split("|"), start=1) if word[:3] == name), 0)


def _months(year: int, month: int, count: int) -> Period:
    behind = month + count - 1
    return date(year, month, 1), date(year + behind // 12, behind % 12 + 1, 1) - timedelta(days=1)


def _calendar(unit: str, *, back: bool, today: date) -> Period:
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=6)
    if unit == "year":
        return _months(today.year - back, 1, 12)
    size = 3 if unit == "quarter" else 1
    first = (today.month - 1) // size * size - size * back
    return _months(today.year + first // 12, first % 12 + 1, size)


def _ago(match: "regex.Match[str]", today: date) -> Bounds:
    """ "last 3 months": the same day three months ago to today; the last day of a shorter month."""
    count, unit = int(match["count"]), match["unit"].lower().rstrip("s")
    try:
        if unit in ("day", "week"):
            return (("gte", today - timedelta(days=count * (7 if unit == "week" else 1))), ("lte", today))
        place = today.year * 12 + today.month - 1 - count * (12 if unit == "year" else 1)
        first, last = _months(place // 12, place % 12 + 1, 1)
        return (("gte", first.replace(day=min(today.day, last.day))), ("lte", today))
    except (ValueError, OverflowError):
        return ()


def _one_sided(match: "regex.Match[str]", today: date) -> Bounds:
    named = period(match["at"], today=today)
    if named is None:
        return ()
    first, last = named
    return {
        "since": (("gte", first),),
        "from": (("gte", first),),
        "after": (("gt", last),),
        "before": (("lt", first),),
        "until": (("lte", last),),
        "till": (("lte", last),),
    }[match["word"].lower()]


def _two_sided(match: "regex.Match[str]", today: date) -> Bounds:
    one, other = period(match["low"], today=today), period(match["high"], today=today)
    if one is None or other is None or one[0] > other[1]:
        return ()
    return (("gte", one[0]), ("lte", other[1]))


def _within(match: "regex.Match[str]", today: date) -> Bounds:
    named = period(match["at"], today=today)
    return (("gte", named[0]), ("lte", named[1])) if named else ()


def _rule(pattern: str) -> "regex.Pattern[str]":
    return regex.compile(rf"(?i)(?<![\w-]){pattern}(?![\w-])")


# The first rule that names real days wins. A bare "in 2026" says when only beside a word for change.
_RULES: tuple[tuple["regex.Pattern[str]", Callable[["regex.Match[str]", date], Bounds]], ...] = (
    (_rule(rf"(?:between\s(?P<low>{_AT})\sand|from\s(?P<low>{_AT})\s(?:to|until|till))\s(?P<high>{_AT})"), _two_sided),
    (
        _rule(
            r"(?:(?:in|during|over|within|from)\s)?(?:the\s)?(?:last|past)\s(?P<count>\d{1,4})\s"
            r"(?P<unit>days?|weeks?|months?|years?)"
        ),
        _ago,
    ),
    (_rule(rf"(?P<word>since|after|before|until|till|from)\s(?P<at>{_AT})"), _one_sided),
    (
        _rule(
            r"(?:(?:in|during|from|of)\s)?(?:the\s)?(?P<at>(?:last|this)\s(?:week|month|quarter|year)|yesterday|today)"
        ),
        _within,
    ),
    (
        _rule(
            rf"(?:(?<=\b{_CHANGED}\s)|(?<=\b{_CREATED}\s)|(?<=\b{_CHANGED}\s[^?]{{0,60}}\s))"
            rf"(?:in|during|on)\s(?P<at>{_AT})"
        ),
        _within,
    ),
)
