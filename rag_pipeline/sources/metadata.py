"""Metadata: the keys that front matter and folder defaults may use, and the values that documents store for them.

Lives here: known keys, their types, dates, access lists, and the JSON of everything else. An access list that can't
be understood admits nobody: losing one must never make a document public.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rag_pipeline.sources.dates import iso_utc
from rag_pipeline.text.repair import repair_text

KEYS = {
    "title": "title",
    "category": "category",
    "categories": "category",
    "author": "author",
    "authors": "author",
    "language": "language",
    "lang": "language",
    "version": "version",
    "created": "created",
    "date": "created",
    "updated": "updated",
    "lastmod": "updated",
    "last_modified": "updated",
    "tags": "tags",
    "keywords": "tags",
    "access": "access",
    "description": "description",
}
"""Spelling in a file -> field; where a file has several spellings of one field, the first in this order wins."""
MAX_LINE = 300
MAX_DEPTH = 20
_ENTRY = re.compile(r"(user|group):\S(.*\S)?")


@dataclass(frozen=True, slots=True)
class Metadata:
    """None (or no tags) = not stated. The fields are those of schema.Document."""

    title: str | None = None
    category: str | None = None
    author: str | None = None
    language: str | None = None
    version: str | None = None
    created: str | None = None
    updated: str | None = None
    tags: tuple[str, ...] = ()
    access: tuple[str, ...] | None = None
    description: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    """What was stated and could not be used."""

    def over(self, base: "Metadata") -> "Metadata":
        """These values, and those of `base` where nothing is stated here."""
        stated: dict[str, Any] = {}
        for name in set(KEYS.values()):
            value = getattr(self, name)
            # An empty access list is a statement, and the strictest one; empty tags are none.
            if value is not None and (value != () or name == "access"):
                stated[name] = value
        notices = (*self.notices, *base.notices)
        return replace(base, **stated, extra={**base.extra, **self.extra}, notices=notices)

    @property
    def extra_json(self) -> str:
        return json.dumps(self.extra, sort_keys=True, ensure_ascii=False)


def read_metadata(values: Mapping[str, Any], *, written: Mapping[str, Any] | None = None) -> Metadata:
    """Fields from a parsed table. `written` has the scalars as they were typed, where the parser knows."""
    typed = written if written is not None else values
    by_spelling: dict[str, list[str]] = {}
    for key in values:
        by_spelling.setdefault(key.strip().lower().replace("-", "_"), []).append(key)
    stated = [(name, key) for spelling, name in KEYS.items() for key in by_spelling.get(spelling, ())]
    fields: dict[str, Any] = {}
    notices: list[str] = []
    used: set[str] = set()
    for name, key in stated:
        value = values[key]
        if name == "access" or name in fields:
            continue
        found = None if value is None else _READ[name](value, typed.get(key, value))
        if found is not None:
            fields[name] = found
        elif value not in (None, "", [], {}):
            notices.append(f"{key}: not usable, kept as extra metadata")
            continue
        if not (name == "category" and isinstance(value, list) and len(value) > 1):
            used.add(key)
    if dates := next((v for k, v in values.items() if k.lower() == "date" and isinstance(v, dict)), None):
        fields.setdefault("updated", iso_utc(dates, key="updated"))
    if lists := [key for name, key in stated if name == "access"]:
        fields["access"], problem = _one_access_list(lists, values, typed)
        notices += [f"access: {problem}"] if problem else []
        used.update(lists)
    extra = {repair_text(key): as_json(value) for key, value in values.items() if key not in used}
    return Metadata(**fields, extra=extra, notices=tuple(notices))


def as_json(value: Any, *, depth: int = 0) -> Any:
    """Any parsed value as what JSON can hold: dates as ISO text, other odd values as their text."""
    if depth > MAX_DEPTH:
        # An alias can make a list hold itself.
        return "nested too deeply"
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, str):
        return repair_text(value)
    if isinstance(value, Mapping):
        return {repair_text(str(key)): as_json(item, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item, depth=depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((as_json(item, depth=depth + 1) for item in value), key=repr)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value.isoformat() if hasattr(value, "isoformat") else repair_text(str(value))


def one_line(text: str) -> str:
    """Repaired, spaces collapsed, cut at MAX_LINE."""
    return " ".join(repair_text(text).split())[:MAX_LINE]


def access_list(value: Any) -> tuple[tuple[str, ...], str]:
    """Sorted entries and the problem, if any. A value that is no list admits nobody."""
    if not isinstance(value, list | tuple):
        return (), "not a list of user:<identity> and group:<name>: nobody is admitted"
    entries = [repair_text(item).strip() for item in value if isinstance(item, str)]
    good = sorted({entry for entry in entries if _ENTRY.fullmatch(entry)})
    if len(good) < len(set(entries)) or len(entries) < len(value):
        return tuple(good), "entries that are not user:<identity> or group:<name> admit nobody"
    return tuple(good), ""


def _one_access_list(
    keys: list[str], values: Mapping[str, Any], typed: Mapping[str, Any]
) -> tuple[tuple[str, ...], str]:
    if len(keys) > 1:
        return (), f"stated {len(keys)} times: nobody is admitted"
    value = values[keys[0]]
    return access_list(typed.get(keys[0], value) if isinstance(value, list) else value)


def _line(_: Any, typed: Any) -> str | None:
    if isinstance(typed, list | dict | set) or typed is None:
        return None
    return one_line(str(typed)) or None


def _names(_: Any, typed: Any) -> str | None:
    """One author or several, each a string or a table with a name."""
    people = typed if isinstance(typed, list) else [typed]
    names = [one_line(str(p.get("name", "") if isinstance(p, dict) else p)) for p in people]
    return ", ".join(n for n in names if n)[:MAX_LINE] or None


def _first(value: Any, typed: Any) -> str | None:
    return _line(value, typed[0] if isinstance(typed, list) and typed else typed)


def _tags(_: Any, typed: Any) -> tuple[str, ...] | None:
    items: Iterable[Any] = typed if isinstance(typed, list) else str(typed).split(",")
    tags = [one_line(str(item)) for item in items if not isinstance(item, list | dict)]
    return tuple(dict.fromkeys(t for t in tags if t)) or None


def _language(value: Any, typed: Any) -> str | None:
    found = _line(value, typed)
    return found.lower().replace("_", "-") if found else None


_READ: dict[str, Callable[[Any, Any], Any]] = {
    "title": _line,
    "category": _first,
    "author": _names,
    "language": _language,
    "version": _line,
    "created": lambda value, _: iso_utc(value, key="created"),
    "updated": lambda value, _: iso_utc(value, key="updated"),
    "tags": _tags,
    "description": _line,
}
