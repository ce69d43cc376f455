"""The offline answer: the sentences of the presented passages that answer best, each quoted as it stands there.

A sentence is scored by the share of the question's words that it holds, weighted by how rare they are among the
sentences; by a smaller share for words in the headings above it; by the rank of its passage; and, where the query
model is at hand, by its similarity to the question. The weights were chosen on the bundled set's tuning half.

It abstains where no sentence passes a floor, and where the question names an identifier ("E-6050") that no presented
passage knows: the nearest other identifier would be a wrong answer that looks right. It can't notice that passages
about the right thing leave the question open.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import regex
from numpy.typing import NDArray

from rag_pipeline.answering.base import Answer, abstention
from rag_pipeline.answering.units import Unit, units_of
from rag_pipeline.context.escape import escape
from rag_pipeline.schema import RetrievalResult
from rag_pipeline.text.analyzer import Analyzer

NAME = "extractive"
MOST_SENTENCES = 5
MOST_QUESTION_CHARS = 2000
SIMILARITY = 0.5
HEADINGS = 0.3
RANK = 0.15
COMPARED = 16
"""Best sentences by words and rank, whose similarity is computed; each costs the model's time."""
LEAST_OVERLAP = 0.15
"""The floor where only words count: one sentence must reach it, or there is no answer."""
LEAST_SIMILARITY = 0.22
LEAST_OF_BOTH = 0.35
OVERLAP_SHARE = 0.5
"""The floor where the model is at hand: similar enough, and similarity with this share of the overlap enough as well:
the words of "what does a ... do" are in any corpus. Of 260 questions about another field (scifact's and cranfield's,
put to the bundled corpus and to kubernetes-qa) 82 to 90 % get no answer, against 41 to 45 % where either alone
sufficed; of the bundled questions that can be answered 1 % on the tuning half, by which this was chosen, and 4 % on the
held-out one. A neighbouring field is quoted still: 95 % of kubernetes-qa's questions to the bundled corpus."""
NEARLY_ALL = 0.9
"""Overlap that is enough by itself: similarity knows little of an identifier."""
FURTHER = 0.5
"""Share of the floor that the sentences quoted besides must reach."""

# A letter first, then a mark or two digits: E-4021, CVE-2025-31877, BL04; not 2026-03, 30-day or mid-2026.
_IDENTIFIER = regex.compile(
    r"(?<![\w.-])(?!\p{L}\p{Ll}{2,}+-(?:19|20)\d\d(?![\w-]|\.\d))(?=\p{L})(?=[\w.-]*?\d)"
    r"(?:[\p{L}\d]++(?:[-_.][\p{L}\d]++)++|\p{L}++\d{2,}+\w*+)"
)
_WHOLE = regex.compile(r"[\p{L}\d]++(?:[-_.]++[\p{L}\d]++)*+")
_EXTENSION = regex.compile(r"\.++(?=\p{L})")
_WORD = regex.compile(r"\p{L}\p{Ll}{2,}+")
_PART = regex.compile(r"\p{L}{3,}+|[\p{L}\d]++(?:\.\d++)*+")

Similarity = Callable[[str, Sequence[str]], NDArray[np.float32]]
"""Question and n texts to (n,) cosines."""


@dataclass(frozen=True, slots=True)
class _Scored:
    unit: Unit
    score: float
    overlap: float
    strength: float
    """How much of the floor it reaches."""


class ExtractiveAnswerer:
    """The same question and result give the same answer. Without `similarity` only words count."""

    name = NAME

    def __init__(self, *, similarity: Similarity | None = None, most: int = MOST_SENTENCES) -> None:
        self._similarity = similarity
        self._most = most

    def answer(self, question: str, result: RetrievalResult) -> Answer:
        if not result.passages:
            return abstention(self.name, result.empty_reason or "no_context")
        question = question[:MOST_QUESTION_CHARS]
        units = units_of(result.passages)
        if _unknown_identifiers(question, units):
            return abstention(self.name, "unknown_identifier")
        chosen = self._chosen(question, units, result)
        return _written(chosen, result) if chosen else abstention(self.name, "below_floor")

    def stream(self, question: str, result: RetrievalResult) -> Iterator[str | Answer]:
        """In one piece: all of it is there before the first word could go."""
        answer = self.answer(question, result)
        yield from (answer.text,) if answer.text else ()
        yield answer

    def _chosen(self, question: str, units: Sequence[Unit], result: RetrievalResult) -> list[Unit]:
        """At most `most`, none where none reaches the floor.

        The passage of the best sentence comes first, then that of the next best; within one, the order of its text.
        """
        scored = _by_words(question, units, _ranks(result))
        scored.sort(key=lambda s: (-s.score, s.unit.order))
        if self._similarity is not None:
            scored = self._compared(question, scored[:COMPARED])
        if max((s.strength for s in scored), default=0.0) < 1:
            return []
        best = [s.unit for s in scored if s.strength >= FURTHER][: self._most]
        first = {unit.number: place for place, unit in reversed(list(enumerate(best)))}
        return sorted(best, key=lambda unit: (first[unit.number], unit.order))

    def _compared(self, question: str, scored: Sequence[_Scored]) -> list[_Scored]:
        assert self._similarity is not None
        cosines = self._similarity(question, [s.unit.text for s in scored]).tolist() if scored else []
        both = [
            _Scored(s.unit, s.score + SIMILARITY * cosine, s.overlap, _strength(cosine, s.overlap))
            for s, cosine in zip(scored, cosines, strict=True)
        ]
        return sorted(both, key=lambda s: (-s.score, s.unit.order))


def _by_words(question: str, units: Sequence[Unit], rank_of: dict[int, int]) -> list[_Scored]:
    analyzer = _analyzer()
    asked = sorted(set(analyzer.tokens(question)))
    own = [set(analyzer.tokens(unit.text)) for unit in units]
    above = [set(analyzer.tokens(unit.under)) for unit in units]
    holding = Counter(token for tokens in own for token in tokens)
    weight = {
        t: _rarity(max(1, holding[t]), len(units)) for t in asked
    }  # a word found nowhere is as rare as found once
    total = math.fsum(weight.values())
    scored, seen = [], set()
    for unit, tokens, headings in zip(units, own, above, strict=True):
        if unit.text in seen:  # the same sentence in two passages is said once
            continue
        seen.add(unit.text)
        overlap = math.fsum(weight[t] for t in asked if t in tokens) / total if total else 0.0
        higher = math.fsum(weight[t] for t in asked if t in headings and t not in tokens) / total if total else 0.0
        score = overlap + HEADINGS * higher + RANK / rank_of[unit.number]
        scored.append(_Scored(unit, score, overlap, overlap / LEAST_OVERLAP))
    return scored


def _strength(cosine: float, overlap: float) -> float:
    both = min(cosine / LEAST_SIMILARITY, (cosine + OVERLAP_SHARE * overlap) / LEAST_OF_BOTH)
    return max(both, overlap / NEARLY_ALL)


def _rarity(holding: int, among: int) -> float:
    """BM25's idf (Robertson and Zaragoza 2009, with 1 added so that no word counts against)."""
    return math.log(1 + (among - holding + 0.5) / (holding + 0.5))


def _ranks(result: RetrievalResult) -> dict[int, int]:
    """Passage number -> rank of its best hit; numbers follow documents, ranks the results."""
    best: dict[str, int] = {}
    for hit in result.hits:
        best.setdefault(hit.section_id, hit.rank)
    return {p.number: best.get(p.section_id, len(result.hits) + 1) for p in result.passages}


def _unknown_identifiers(question: str, units: Sequence[Unit]) -> bool:
    """Whether the question names one that no passage holds."""
    named = {match.group() for match in _IDENTIFIER.finditer(question)}
    if not named:
        return False
    said = _said(units)
    return not all(name.casefold().rstrip("_") in said or _ordinary(name, said) for name in named)


def _said(units: Sequence[Unit]) -> set[str]:
    """Words, numbers and identifiers, each whole; of "E-4021.md" what is before the dot too."""
    text = "\n".join(f"{unit.text}\n{unit.under}" for unit in units).casefold()
    whole = {match.group() for match in _WHOLE.finditer(text)}
    return whole | {part for found in whole if "." in found for part in _EXTENSION.split(found)}


def _ordinary(name: str, said: set[str]) -> bool:
    """Whether it is a word with a number, and the passages have both apart: "Python3.11" and "Python 3.11"."""
    return _WORD.search(name) is not None and all(part.casefold() in said for part in _PART.findall(name))


def _written(chosen: Sequence[Unit], result: RetrievalResult) -> Answer:
    """One quotation a line with its mark behind it; code in a fence with the mark on the next line."""
    cited = tuple(dict.fromkeys(unit.number for unit in chosen))
    by_number = {citation.number: citation for citation in result.citations}
    text = "\n".join(_quoted(unit) for unit in chosen)
    citations = tuple(by_number[number] for number in cited)
    return Answer(text, citations, (), NAME, None, abstained=False, reason=None, markers=())


def _quoted(unit: Unit) -> str:
    if unit.kind == "code":
        fence = "`" * max(3, 1 + max((len(run) for run in regex.findall(r"`{3,}+", unit.text)), default=0))
        return f"{fence}\n{unit.text}\n{fence}\n[{unit.number}]"
    return f"{escape(unit.text)} [{unit.number}]"  # a mark inside the quotation must not read as ours


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    return Analyzer()
