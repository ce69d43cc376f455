"""A filter said in words becomes a structured one: "german pages", "tagged billing", "changes since 2026-03".

By rules, the same every day for the same `today`. Only values of the given vocabulary are proposed, and a word counts
as a filter only where it is used as one: "security pages" is, "security" alone is something to search for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import regex

from rag_pipeline.retrieval.filters import parse_filters
from rag_pipeline.retrieval.transforms.filter_dates import dated

MAX_QUERY_CHARS = 1000
"""A longer query is searched for as it is."""

LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "ar": ("arabic",),
    "cs": ("czech",),
    "da": ("danish",),
    "de": ("german", "deutsch", "deutsche", "deutschen"),
    "el": ("greek",),
    "en": ("english", "englisch", "englische"),
    "es": ("spanish", "español", "espanol"),
    "fi": ("finnish",),
    "fr": ("french", "français", "francais", "französisch"),
    "hi": ("hindi",),
    "hu": ("hungarian",),
    "it": ("italian", "italiano"),
    "ja": ("japanese", "日本語"),
    "ko": ("korean",),
    "nl": ("dutch", "nederlands"),
    "no": ("norwegian",),
    "pl": ("polish", "polski"),
    "pt": ("portuguese", "português"),
    "ro": ("romanian",),
    "ru": ("russian",),
    "sv": ("swedish",),
    "tr": ("turkish",),
    "uk": ("ukrainian",),
    "vi": ("vietnamese",),
    "zh": ("chinese", "mandarin"),
}
_PAGES = r"(?:pages?|docs?|documents?|documentation|articles?|files?|texts?|seiten?|dokumente?)"
_CHANGES = r"(?:changes|updates|edits|news|revisions)"
_KEYS = {"category": "category", "author": "author", "language": "language", "lang": "language", "tag": "tags"}
_EXPLICIT = regex.compile(rf'(?i)(?<!\w)({"|".join(_KEYS)})s?\s?[:=]\s?(?:"([^"]{{1,80}})"|([\w.-]{{1,80}}))')
_IN_LANGUAGE = regex.compile(rf"(?i)(?<!\w)(?:(\w+)\s(?:language\s)?{_PAGES}|(?:{_PAGES}\s)?(?:in|auf)\s(\w+))(?!\w)")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The values that the collection has, as they are stored."""

    categories: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilterQuery:
    text: str
    """What is left to search for; the whole query where nothing would be left."""
    filters: Mapping[str, Any]
    """As `retrieval.filters` reads them; {} where the query names none."""
    understood: tuple[str, ...]
    """The phrases that became filters, to show a person."""


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    key: str
    values: tuple[str, ...]
    removed: bool = True


def filter_query(query: str, *, vocabulary: Vocabulary, today: date) -> FilterQuery:
    """Never raises for a query, whatever it holds; several values of one key mean any of them."""
    if len(query) > MAX_QUERY_CHARS:
        return FilterQuery(query, {}, ())
    filters: dict[str, Any] = {}
    taken: list[tuple[int, int]] = []
    phrases: list[tuple[int, str]] = []
    when = dated(query, today=today)
    if when is not None:
        filters[when.key] = dict(when.bounds)
        taken.append((when.start, when.end))
        phrases.append((when.start, query[when.start : when.end]))
    for found in _all(query, vocabulary, is_dated=when is not None):
        if any(found.start < end and start < found.end for start, end in taken):
            continue
        filters[found.key] = _merged(filters.get(found.key), found.values)
        phrases.append((found.start, query[found.start : found.end]))
        if found.removed:
            taken.append((found.start, found.end))
    parse_filters(filters)
    return FilterQuery(_left(query, taken), filters, tuple(phrase for _, phrase in sorted(phrases)))


def _all(query: str, vocabulary: Vocabulary, *, is_dated: bool) -> Iterator[_Found]:
    known: dict[str, Callable[[str], str | None]] = {
        "category": _exact(vocabulary.categories),
        "author": _author(vocabulary.authors),
        "language": _language(vocabulary.languages),
        "tags": _exact(vocabulary.tags),
    }
    # category:security, tag="on call"
    for match in _EXPLICIT.finditer(query):
        key = _KEYS[match[1].lower()]
        if value := known[key]((match[2] or match[3]).rstrip(".")):
            yield _Found(match.start(), match.end(), key, (value,))
    yield from _named(query, r"tagged(?:\s(?:as|with))?", vocabulary.tags, "tags", known["tags"])
    yield from _named(query, r"with\s(?:the\s)?tags?", vocabulary.tags, "tags", known["tags"])
    yield from _named(query, r"(?:(?:written|created|published)\s)?by", vocabulary.authors, "author", known["author"])
    yield from _named(query, r"in\s(?:the\s)?category", vocabulary.categories, "category", known["category"])
    for match in regex.finditer(r"(?i)\bin\s(?:the\s)?(\w[\w -]{0,40}?)\scategory\b", query):
        if value := known["category"](match[1]):
            yield _Found(match.start(), match.end(), "category", (value,))
    # german pages; pages in german
    for match in _IN_LANGUAGE.finditer(query):
        if value := known["language"](match[1] or match[2]):
            yield _Found(match.start(), match.end(), "language", (value,))
    # security pages; security policy changes (since ...): the words stay, they say what is looked for
    nouns = rf"(?:{_PAGES}|{_CHANGES})" if is_dated else _PAGES
    for match in regex.finditer(rf"(?i)(?<!\w)((?:[\w-]+\s){{1,2}}){nouns}(?!\w)", query):
        values = [value for word in match[1].split() if (value := known["category"](word))]
        if values:
            yield _Found(match.start(), match.end(), "category", tuple(dict.fromkeys(values)), removed=False)


def _named(
    query: str, lead: str, values: Sequence[str], key: str, known: Callable[[str], str | None]
) -> Iterator[_Found]:
    """The lead word and a value of the vocabulary behind it, the longest that fits, or one word that stands for one."""
    for match in regex.finditer(rf"(?i)(?<!\w){lead}\s(?:the\s)?", query):
        rest = query[match.end() :]
        fitting = [value for value in values if _begins(rest, value)]
        if fitting:
            best = max(fitting, key=lambda value: (len(value), value))
            yield _Found(match.start(), match.end() + len(best), key, (best,))
        elif (word := regex.match(r"[\w.-]+\w|\w", rest)) and (value := known(word[0])):
            yield _Found(match.start(), match.end() + len(word[0]), key, (value,))


def _begins(text: str, value: str) -> bool:
    behind = text[len(value) : len(value) + 1]
    return text[: len(value)].casefold() == value.casefold() and not (behind.isalnum() or behind == "_")


def _exact(values: Sequence[str]) -> Callable[[str], str | None]:
    by_name = {value.casefold(): value for value in sorted(values, reverse=True)}
    return lambda word: by_name.get(word.casefold())


def _language(values: Sequence[str]) -> Callable[[str], str | None]:
    exact = _exact(values)
    names = {name: code for code, spoken in LANGUAGES.items() for name in spoken}

    def known(word: str) -> str | None:
        return exact(names.get(word.casefold(), word)) if word.casefold() in names or len(word) > 2 else None

    return known


def _author(values: Sequence[str]) -> Callable[[str], str | None]:
    """By full name, or by one part of the name that no other author has."""
    exact = _exact(values)

    def known(word: str) -> str | None:
        holding = [value for value in values if word.casefold() in value.casefold().split()]
        return exact(word) or (holding[0] if len(holding) == 1 and len(word) > 2 else None)

    return known


def _merged(before: Any, values: tuple[str, ...]) -> Any:
    listed = [] if before is None else [before] if isinstance(before, str) else list(before)
    together = list(dict.fromkeys([*listed, *values]))
    return together[0] if len(together) == 1 else together


def _left(query: str, taken: Sequence[tuple[int, int]]) -> str:
    left, at = [], 0
    for start, end in sorted(taken):
        left.append(query[at:start])
        at = end
    text = regex.sub(r"\s++(?=[?!.,;])", "", " ".join(" ".join([*left, query[at:]]).split())).strip(" ,;:")
    return text if regex.search(r"\w", text) else query.strip()
