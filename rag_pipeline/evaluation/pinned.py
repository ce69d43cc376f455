"""A collection's pinned queries: a person knows their answers, and a release must give them."""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import ValidationError

from rag_pipeline.checks import CheckResult
from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.retrieve import retrieve_from
from rag_pipeline.schema import Hit, Principal, RetrievalResult
from rag_pipeline.settings.base import Strict, explain
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.gate import PinnedQuery

FILE = "pinned.toml"


class _File(Strict):
    pinned: tuple[PinnedQuery, ...] = ()


@dataclass(frozen=True, slots=True)
class PinnedAnswer:
    pinned: PinnedQuery
    result: RetrievalResult
    found_at: int | None
    """Rank of the expected section, None where it is not among the first `within`."""

    @property
    def as_expected(self) -> bool:
        return self.found_at is not None


def pinned_queries(own: CollectionSettings) -> tuple[PinnedQuery, ...]:
    """Those of the settings, then those of the eval set's folder. Raises InvalidEvalSet for a file it can't use."""
    file = Path(own.eval_set) / FILE if own.eval_set is not None else None
    if file is None or not file.is_file():
        return own.pinned
    try:
        return own.pinned + _File.model_validate(tomllib.loads(file.read_text("utf-8"))).pinned
    except ValidationError as error:
        raise InvalidEvalSet(explain(error, str(file)) + "; correct the file") from error
    except ValueError as error:  # TOML and UTF-8 errors alike
        raise InvalidEvalSet(f"{file}: not readable as TOML: {error}; correct the file") from error


def ask_pinned(
    opened: OpenRelease, pinned: PinnedQuery, *, models: Path, principal: Principal | None = None
) -> PinnedAnswer:
    """By the release's default strategy, as anyone would ask."""
    result = retrieve_from(opened, pinned.query, models=models, principal=principal)
    hits = result.hits[: pinned.within]
    texts = opened.index.document_texts([hit.doc_id for hit in hits])
    return PinnedAnswer(pinned, result, next((h.rank for h in hits if _is_expected(h, texts[h.doc_id], pinned)), None))


def pinned_as_expected(opened: OpenRelease, pinned: tuple[PinnedQuery, ...], *, models: Path) -> CheckResult:
    """All pinned queries have their expected answers; what was found instead is in the message."""
    answers = [ask_pinned(opened, p, models=models) for p in pinned]
    wrong = [a for a in answers if not a.as_expected]
    numbers: dict[str, int | float | str] = {"asked": len(answers), "unexpected": len(wrong)}
    if wrong:
        return CheckResult(
            False, "; ".join(map(_describe, wrong)) + "; correct the release, or what is pinned", numbers
        )
    return CheckResult(True, f"{len(answers)} pinned queries answered as expected", numbers)


def _is_expected(hit: Hit, text: str, pinned: PinnedQuery) -> bool:
    section = text[hit.section_start : hit.section_end]
    return (not pinned.document or fnmatchcase(hit.doc_id, pinned.document)) and (
        pinned.expect.casefold() in section.casefold()
    )


def _describe(answer: PinnedAnswer) -> str:
    pinned = answer.pinned
    wanted = " in ".join(filter(None, [pinned.expect and repr(pinned.expect), pinned.document]))
    found = ", ".join(f"{h.doc_id}:{h.section_start}" for h in answer.result.hits[: max(3, pinned.within)])
    place = "the first result" if pinned.within == 1 else f"the first {pinned.within} results"
    return f"{pinned.query!r} does not have {wanted} in {place}; found {found or 'nothing'}"
