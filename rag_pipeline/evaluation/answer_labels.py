"""Answers labelled sentence by sentence, to measure judges with: the values, reading `answers.jsonl`, and checking it.

A passage is a document and text quoted from it, so the set is complete without its corpus; against a corpus every quote
must still occur once. Reading collects every problem, with its line, before it gives up.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints, ValidationError, model_validator

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, LabelProblem, Query
from rag_pipeline.evaluation.labels import read_about
from rag_pipeline.evaluation.resolve import Corpus, locate
from rag_pipeline.evaluation.rows import read_rows
from rag_pipeline.evaluation.split import Half, split_halves
from rag_pipeline.settings.base import Strict, explain

ANSWERS = "answers.jsonl"

Fault = Literal["number", "name", "condition", "negation", "order", "generalisation", "unsupported"]
"""What is wrong with a sentence: a changed number, a swapped name, an added condition or exception, a dropped or added
negation, a reversed order or relation, more said than the passage says, or something the passages don't mention."""
FAULTS: tuple[str, ...] = get_args(Fault)

Text = Annotated[str, StringConstraints(strict=True, pattern=r"\S")]


class _Passage(Strict):
    document: Text
    quote: Text


class _Sentence(Strict):
    text: Text
    faithful: Annotated[bool, Field(strict=True)]
    fault: Fault | None = None

    @model_validator(mode="after")
    def _named(self) -> "_Sentence":
        if self.faithful == (self.fault is not None):
            raise ValueError("an unfaithful sentence names its `fault`, a faithful one has none")
        return self


class _Row(Strict):
    id: Text
    question: Text
    query_id: Text | None = None
    passages: Annotated[tuple[_Passage, ...], Field(min_length=1)]
    sentences: Annotated[tuple[_Sentence, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class QuotedPassage:
    document: str
    quote: str


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    text: str
    start: int
    """Half-open code points of the answer."""
    end: int
    faithful: bool
    fault: str | None


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    id: str
    question: str
    query_id: str | None
    passages: tuple[QuotedPassage, ...]
    sentences: tuple[LabelledSentence, ...]
    text: str
    """The sentences one after the other: a space between them, nothing before one that begins with a line break."""
    line: int = 0

    @property
    def faithful(self) -> bool:
        return all(s.faithful for s in self.sentences)


@dataclass(frozen=True)
class AnswerSet:
    name: str
    version: str
    answers: tuple[LabelledAnswer, ...]

    @cached_property
    def content_hash(self) -> str:
        """sha256 over the answers and their labels, hex; their order, name and version don't matter."""
        rows = sorted(json.dumps({**asdict(a), "line": 0}, sort_keys=True) for a in self.answers)
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    @cached_property
    def half_of(self) -> dict[str, Half]:
        """TUNING or HELD_OUT by answer id; answers over the same document are in the same half."""
        questions = tuple(Query(a.id, a.question) for a in self.answers)
        labels = tuple(Judgement(a.id, p.document, quote=p.quote) for a in self.answers for p in a.passages)
        return dict(split_halves(EvalSet(self.name, questions, labels)).half_of)


def load_answer_set(folder: Path) -> AnswerSet:
    """Raises InvalidEvalSet that lists the errors with their lines."""
    answers, problems = read_answer_set(folder)
    if problems:
        listed = "\n  ".join(map(str, problems[:20]))
        raise InvalidEvalSet(f"{folder}: {len(problems)} errors; correct these lines:\n  {listed}")
    return answers


def read_answer_set(folder: Path) -> tuple[AnswerSet, tuple[LabelProblem, ...]]:
    """What could be read, and every problem. Raises InvalidEvalSet where there is no such file."""
    problems: list[LabelProblem] = []
    about = read_about(folder, problems)
    found: dict[str, LabelledAnswer] = {}
    for line, raw in read_rows(folder / ANSWERS, problems):
        try:
            row = _Row.model_validate(raw)
        except ValidationError as error:
            problems.append(LabelProblem(ANSWERS, line, explain(error, "answer")))
            continue
        if row.id in found:
            told = f"answer id {row.id!r} is already used in line {found[row.id].line}"
            problems.append(LabelProblem(ANSWERS, line, told))
            continue
        found[row.id] = _answer(row, line)
    if not found and not problems:
        problems.append(LabelProblem(ANSWERS, 0, "holds no answer; add at least one"))
    return AnswerSet(about.name or folder.resolve().name, about.version, tuple(found.values())), tuple(problems)


def unresolved_passages(answers: AnswerSet, corpus: Corpus) -> tuple[LabelProblem, ...]:
    """Passages whose document is unknown, or that don't occur there exactly once."""
    problems = []
    for answer in answers.answers:
        for passage in answer.passages:
            at = locate(Judgement(answer.id, passage.document, quote=passage.quote), corpus)
            if isinstance(at, str):
                problems.append(LabelProblem(ANSWERS, answer.line, f"answer {answer.id!r}: {at}"))
    return tuple(problems)


def _answer(row: _Row, line: int) -> LabelledAnswer:
    text = ""
    sentences = []
    for sentence, lead in zip(row.sentences, _leads(row), strict=True):
        text += lead
        body = sentence.text.strip()
        sentences.append(LabelledSentence(body, len(text), len(text) + len(body), sentence.faithful, sentence.fault))
        text += body
    passages = tuple(QuotedPassage(p.document, p.quote) for p in row.passages)
    return LabelledAnswer(row.id, row.question, row.query_id, passages, tuple(sentences), text, line)


def _leads(row: _Row) -> Iterator[str]:
    """What stands before each sentence."""
    for i, sentence in enumerate(row.sentences):
        yield ("\n" if sentence.text.startswith("\n") else " ") if i else ""
