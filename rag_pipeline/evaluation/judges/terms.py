"""What a sentence claims in words that can be checked: content words, numbers, names, negation, universal words.

Shared by the judges that decide by rule. Which passage supports a sentence, and when, is theirs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import regex

from rag_pipeline.context.escape import MARK_BODY
from rag_pipeline.evaluation.judges.words import (
    CONDITIONS,
    FUNCTION_WORDS,
    MONTHS,
    NEGATIONS,
    NUMBERS,
    UNIVERSALS,
    VAGUE_NUMBERS,
)
from rag_pipeline.text.analyzer import Analyzer

_MARK = regex.compile(rf"[ \t]?{MARK_BODY}")
_PLAIN = FUNCTION_WORDS | NEGATIONS | UNIVERSALS | CONDITIONS | NUMBERS.keys()
"""Words that are no names, wherever they have a capital."""
_NUMBER = re.compile(r"(?<![\w.,:-])[$€£§#+-]?(\d+(?:[.,:_\u202f\u00a0']\d+)*(?:-\d{2}(?:-\d{2})?)?)(?![\w]*_)")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]+(?:['’.\-/:@][\p{L}\p{M}\p{N}_]+)*")
_IDENTIFIER = regex.compile(r"[\p{Ll}\p{N}]\p{Lu}|\p{L}.*\p{N}|\p{N}.*\p{L}|_|/|@|\p{L}\.\p{L}{2,}|\p{Lu}{2,}")
_SPLIT_NUMBER = re.compile(r"(\d+)([.,_\u202f\u00a0'])(?=\d)")


@dataclass(frozen=True, slots=True)
class Terms:
    content: tuple[str, ...]
    """Stems of the words that carry meaning, each once."""
    numbers: frozenset[frozenset[str]]
    """Each number as the readings it may have: "1.000" is 1 to three places, or a thousand."""
    supporting: frozenset[str]
    """Readings of every number here, those in words and names of months among them."""
    names: frozenset[str]
    """Folded identifiers and words written with a capital inside a sentence."""
    words: frozenset[str]
    """All words and their parts, folded: where a name is looked for."""
    negations: int
    universals: frozenset[str]
    conditions: frozenset[str]
    order: tuple[str, ...]
    """First token of every word that is no function word, numbers among them, as they follow each other."""


def without_marks(text: str) -> str:
    """Without citation marks such as `[2]`; a document's own are escaped where an answer is made from it."""
    return str(_MARK.sub("", text))


@lru_cache(maxsize=20_000)
def terms(text: str) -> Terms:
    text = without_marks(text)
    found = _WORD.findall(text)
    folded = [word.lower().replace("’", "'") for word in found]
    content: dict[str, None] = {}
    order = []
    for word, low in zip(found, folded, strict=True):
        tokens = _analyzer().tokens(word)
        if low in FUNCTION_WORDS or not tokens:
            continue
        order.append(tokens[0])
        if not (low in NEGATIONS or low.endswith("n't") or low in NUMBERS):
            content.update({token: None for token in tokens if not token.isdigit()})
    numbers = tuple(_numbers(text))
    in_words = {str(NUMBERS[low]) for low in folded if low in NUMBERS}
    claimed = {str(NUMBERS[low]) for low in folded if low in NUMBERS and low not in VAGUE_NUMBERS}
    months = {str(MONTHS[low]) for word, low in zip(found, folded, strict=True) if low in MONTHS and word[0].isupper()}
    return Terms(
        content=tuple(content),
        numbers=frozenset(numbers) | {frozenset({number}) for number in claimed},
        supporting=frozenset(r for readings in numbers for r in readings) | in_words | months,
        names=frozenset(_names(text, found)),
        words=frozenset(token for word in found for token in (word.lower(), *_analyzer().tokens(word))),
        negations=sum(low in NEGATIONS or low.endswith("n't") for low in folded),
        universals=frozenset(low for low in folded if low in UNIVERSALS),
        conditions=frozenset(low for low in folded if low in CONDITIONS),
        order=tuple(order),
    )


def _numbers(text: str) -> Iterator[frozenset[str]]:
    """Every number in digits, each with all its readings; the parts of an ISO date and of a time count one by one."""
    for match in _NUMBER.finditer(text):
        number = match[1]
        if re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", number):
            yield from (frozenset({str(int(part))}) for part in number.split("-"))
            continue
        yield _readings(number.split("-")[0])


def _readings(number: str) -> frozenset[str]:
    if ":" in number or number.count(".") > 1:
        return frozenset({number.lstrip("0") or "0"})
    readings = set()
    if re.fullmatch(r"\d{1,3}(?:[.,_\u202f\u00a0']\d{3})+", number):
        readings.add(str(int(re.sub(r"\D", "", number))))
    separators = set(_SPLIT_NUMBER.findall(number)) if number else set()
    decimal = number.replace(",", ".") if len({s for _, s in separators}) <= 1 else number.replace(",", "")
    if re.fullmatch(r"\d+(?:\.\d+)?", decimal):
        whole, _, part = decimal.partition(".")
        part = part.rstrip("0")
        readings.add(f"{int(whole)}.{part}" if part else str(int(whole)))
    return frozenset(readings or {number})


def _names(text: str, found: list[str]) -> Iterator[str]:
    """Identifiers, and capitalised words that do not merely begin a sentence.

    Where most words have a capital (German nouns, headings) the capital says nothing, and only identifiers count.
    """
    inside = [w for w in found[1:] if w[0].isalpha()]
    capital = [w for w in inside if w[0].isupper()]
    says_something = len(capital) <= max(2, 0.3 * len(inside))
    starts = {m.end() for m in re.finditer(r"(?:^|[.!?:…]\s|\n\s*(?:[-*]|\d+[.)])?\s*|[\"“„«(]\s?)[`*_]*", text)}
    for match in _WORD.finditer(text):
        word = match[0]
        if _IDENTIFIER.search(word) and not word.replace(".", "").isdigit():
            yield word.lower()
        elif word[0].isupper() and len(word) > 1 and says_something and word.lower() not in _PLAIN:
            follows = _WORD.search(text, match.end())
            named = follows is not None and follows[0][0].isupper() and text[match.end() : follows.start()] == " "
            if match.start() not in starts or named:
                yield word.lower()


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    return Analyzer("english")
