"""What a diagnosis says: frozen values only. Every text in them comes from inside the principal's scope."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rag_pipeline.schema import Principal

Reason = Literal[
    "found",
    "unknown_document",
    "not_indexed",
    "no_such_passage",
    "passage_filtered",
    "not_permitted",
    "filtered_out",
    "not_a_candidate",
    "fusion",
    "evidence",
    "exact",
    "overlap",
    "reranking",
    "min_relevance",
    "diversity",
    "cut",
    "budget",
]
"""In the order a passage can be lost. `unknown_document`: no input of that name; `not_indexed`: the ledger says why;
`exact`: chunks with the query's identifiers were put in front; `overlap`: another section with the same text stands for
it; `cut`: it ranks below `top_k`; `budget`: it was found, and the formatted context does not show it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of `retrieve`, as it is examined."""

    question: str
    strategy: str | None = None
    context: str | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)
    principal: Principal | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the expected passage stands in one stage."""

    stage: str
    rank: int | None
    """From 1; None where the stage does not have it. Legs rank chunks, the stages behind them sections."""
    of: int
    """How many the stage ranked."""
    kept: int | None = None
    """How many of them go on."""
    score: float | None = None
    used: bool = True
    """False for a leg that this strategy does not search by."""


@dataclass(frozen=True, slots=True)
class Term:
    """One token of the query, as the index sees it."""

    token: str
    chunks: int
    """Chunks in the scope that hold it."""
    in_passage: bool | None = None
    """None where no passage is expected."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """Cosines to the query, by the strategy's model."""

    passage: float
    best: float
    """Of the nearest chunk in the scope."""
    last_candidate: float
    """Of the last chunk that is still a candidate of the vector leg."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    advice: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Overrides of one call, and what a strategy or context of the settings file would say."""
    rank: int | None = None
    """Where the passage is returned with these settings; None where it still isn't, or that was not tried."""
    works: bool | None = None
    """Whether it is returned with these settings; None: not tried, because it needs another index or other rights."""
    outcome: str = ""
    """What the re-run gave, in words."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One result of a stage, for the overview."""

    document: str
    start: int
    end: int
    headers: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    of: int
    first: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something about the question or the answer that is worth a look, whatever was expected."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why one expected passage is, or is not, in the answer."""

    expected: str
    document: str | None
    """The indexed document that holds it: for a duplicate, the one that stands for it."""
    reason: Reason
    message: str
    rank: int | None = None
    """Among the results."""
    places: tuple[Place, ...] = ()
    terms: tuple[Term, ...] = ()
    nearness: Nearness | None = None
    suggestions: tuple[Suggestion, ...] = ()
    """What works first; then what was tried and does not."""
    strategies: Mapping[str, int | None] = field(default_factory=dict)
    """Rank by other strategies of the release with the same `top_k`; those that need a model are not asked."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    collection: str
    release_id: str
    question: str
    strategy: str
    context: str | None
    filters: Mapping[str, Any]
    principal: str
    """Whose eyes it was looked through: "public", "system" or the principal's entries."""
    stages: tuple[Stage, ...]
    candidates: Mapping[str, int]
    markers: tuple[str, ...]
    alarms: tuple[Alarm, ...]
    diagnoses: tuple[Diagnosis, ...] = ()


def told(principal: Principal | None) -> str:
    """Who looks, in words."""
    if principal is None:
        return "the public"
    return "the system" if principal.is_system else " ".join(principal.entries)
