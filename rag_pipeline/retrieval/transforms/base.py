"""What a query transform gives: the original query first, then what to search for besides. No prompt lives here."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from rag_pipeline.errors import StageFailed
from rag_pipeline.llm.client import Llm

MAX_VARIANT_CHARS = 500
MAX_PASSAGE_CHARS = 2000
ADVICE = "check the language model's settings, choose another transform, or leave strict mode"


@dataclass(frozen=True, slots=True)
class Variant:
    text: str
    kind: str
    """"original", or the name of the transform that made it."""
    role: Literal["query", "document"] = "query"
    """How it is embedded: a made-up passage as a document, and it is not for the lexical leg."""


@dataclass(frozen=True, slots=True)
class Transformed:
    variants: tuple[Variant, ...]
    """The first is the query as it was given, always."""
    markers: tuple[str, ...] = ()
    """"transform=skipped:<why>" where nothing was added, "transform=cut" where something was left out."""
    cached: bool = False
    seconds: float = 0.0


class Transform(Protocol):
    """`llm` None: none is configured. `strict` raises StageFailed where the transform could not run."""

    def __call__(self, query: str, *, llm: Llm | None, strict: bool = False) -> Transformed: ...


def original(query: str) -> Variant:
    return Variant(query, "original")


def skipped(query: str, reason: str, *, strict: bool, seconds: float = 0.0) -> Transformed:
    if strict:
        raise StageFailed("transform", reason, ADVICE)
    return Transformed((original(query),), (f"transform=skipped:{reason}",), seconds=seconds)


def with_original(
    query: str, texts: Iterable[str], *, kind: str, most: int, cached: bool = False, seconds: float = 0.0
) -> Transformed:
    """The query and at most `most` of the texts: each on one line, each once, none the query itself."""
    seen = {_same(query), ""}  # a variant of dots alone searches for nothing
    variants = [original(query)]
    cut = False
    for text in texts:
        flat = " ".join(text.split())
        if not flat or _same(flat) in seen:
            continue
        if len(variants) > most:
            cut = True
            break
        seen.add(_same(flat))
        shown = shorten(flat, MAX_VARIANT_CHARS)
        cut = cut or shown != flat
        variants.append(Variant(shown, kind))
    return Transformed(tuple(variants), ("transform=cut",) if cut else (), cached, seconds)


def shorten(text: str, most: int) -> str:
    """At most `most` characters, cut between words where there is a space in the second half."""
    if len(text) <= most:
        return text
    space = text.rfind(" ", most // 2, most + 1)
    return text[: space if space > 0 else most].rstrip()


def _same(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?!. ")
