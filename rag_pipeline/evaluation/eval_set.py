"""What an eval set is: questions, and labels that name passages of documents.

Lives here: the frozen values and the hash of their content. Reading files is labels.py and beir.py; what a label means
in a particular build is resolve.py. A label never names a chunk or section id, so it survives re-chunking.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from rag_pipeline.schema import Principal

UNANSWERABLE = "unanswerable"
"""Tag of a question whose answer is not in the corpus: it has no labels, and an empty answer is the right one."""


@dataclass(frozen=True, slots=True)
class Query:
    id: str
    text: str
    tags: tuple[str, ...] = ()
    filters: Mapping[str, object] = field(default_factory=dict)
    principal: Principal | None = None
    """Who asks; None sees public documents only."""
    reference_answer: str | None = None
    key_facts: tuple[str, ...] = ()

    @property
    def answerable(self) -> bool:
        return UNANSWERABLE not in self.tags


@dataclass(frozen=True, slots=True)
class Judgement:
    """One passage that answers a question. The passage is the `quote`, else `[start, end)`, else the `section` under a
    heading, else the whole document; a quote that occurs several times may carry `start` and `end` to say which.
    """

    query_id: str
    document: str
    quote: str | None = None
    start: int | None = None
    """Code points of the stored document text."""
    end: int | None = None
    section: str | None = None
    """A heading, or a heading path joined by " > "."""
    grade: int = 1
    """1 = related and useful, 2 = answers in part, 3 = answers fully."""
    line: int = field(default=0, compare=False)
    """Line in the file it came from, for messages; not part of its identity."""


@dataclass(frozen=True, slots=True)
class LabelProblem:
    """Something wrong with an eval set, at one line of one file."""

    file: str
    line: int
    """From 1; 0 = the file as a whole."""
    message: str
    severity: Literal["error", "notice"] = "error"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


@dataclass(frozen=True, slots=True)
class EvalSet:
    name: str
    queries: tuple[Query, ...]
    judgements: tuple[Judgement, ...]
    version: str = ""

    @property
    def content_hash(self) -> str:
        """sha256 over questions and labels, hex; their order, the order of tags, name and version don't matter."""
        queries = sorted(_canonical(replace(q, tags=tuple(sorted(q.tags)))) for q in self.queries)
        judgements = sorted(_canonical(replace(j, line=0)) for j in self.judgements)
        return hashlib.sha256("\n".join([*queries, "", *judgements]).encode("utf-8")).hexdigest()

    @property
    def answerable(self) -> tuple[Query, ...]:
        return tuple(q for q in self.queries if q.answerable)

    @property
    def judgements_of(self) -> Mapping[str, tuple[Judgement, ...]]:
        """Labels by query id; every query has an entry."""
        grouped: dict[str, list[Judgement]] = {q.id: [] for q in self.queries}
        for judgement in self.judgements:
            grouped[judgement.query_id].append(judgement)
        return {query_id: tuple(found) for query_id, found in grouped.items()}


def _canonical(value: Query | Judgement) -> str:
    return json.dumps(asdict(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
