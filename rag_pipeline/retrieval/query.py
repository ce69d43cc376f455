"""A query as given to the text that is searched for."""

import unicodedata
from dataclasses import dataclass

from rag_pipeline.errors import InvalidQuery
from rag_pipeline.text.repair import repair_text

MAX_CHARACTERS = 10_000
TRUNCATED = "query=truncated"

# Separators, controls, format characters, surrogates and unassigned code points show nothing; nor do these fillers.
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffd")


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    markers: tuple[str, ...] = ()


def normalise(query: str) -> Query:
    """Repaired and stripped, at most MAX_CHARACTERS. Raises InvalidQuery where nothing visible is left."""
    if not isinstance(query, str):
        raise InvalidQuery(f"a query is text, not {type(query).__name__}; pass a str")
    text = repair_text(query[: MAX_CHARACTERS + 1]).strip()
    if not any(_visible(character) for character in text):
        raise InvalidQuery("the query holds nothing to search for; write at least one word")
    return Query(text[:MAX_CHARACTERS], (TRUNCATED,) if len(query.strip()) > MAX_CHARACTERS else ())


def _visible(character: str) -> bool:
    return character not in _INVISIBLE and unicodedata.category(character) not in _INVISIBLE_CATEGORIES
