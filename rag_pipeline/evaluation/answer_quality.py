"""How good answers are: key facts, likeness to the reference, faithfulness by each judge, abstention, cost.

Lives here: the values and the scoring of given answers. Getting them from a release is answer_release.py's, from a file
answer_recorded.py's. An extractive answer quotes its passages, so it is faithful by construction and what counts is the
key facts in it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rag_pipeline.embedding.base import Embedder
from rag_pipeline.evaluation.answer_metrics import Abstention, abstention_of, key_fact_recall, reference_similarity
from rag_pipeline.evaluation.eval_set import EvalSet, Query
from rag_pipeline.evaluation.judges.base import MIN_COVERAGE, JudgedAnswers, Judgement, judge_all, judged_answers
from rag_pipeline.evaluation.judges.ragas_judge import METRICS, RagasScorer
from rag_pipeline.evaluation.judges.registry import Judges


@dataclass(frozen=True, slots=True)
class Given:
    """One answer, wherever it comes from."""

    text: str
    passages: tuple[str, ...]
    """What it was made from, as its maker saw it."""
    abstained: bool
    reason: str | None = None
    """Why it abstained."""
    tokens: int | None = None
    """Of the context it was made from."""
    markers: tuple[str, ...] = ()
    failure: str | None = None
    """There is neither an answer nor an abstention, and why."""


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    query_id: str
    tags: tuple[str, ...]
    answerable: bool
    text: str
    abstained: bool
    reason: str | None
    failure: str | None
    key_facts: float | None
    """Key-fact recall; None where the question has none, is unanswerable, or the call failed."""
    similarity: float | None
    """To the reference answer; None likewise."""
    tokens: int | None
    passages: int
    markers: tuple[str, ...] = ()
    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    """By judge; empty where it abstained."""
    ragas: Mapping[str, float] = field(default_factory=dict)
    ragas_failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over questions, and what it stands on."""

    mean: float | None
    """None where no question has it, or fewer than MIN_COVERAGE of those that should."""
    n: int
    of: int

    @property
    def coverage(self) -> float:
        return self.n / self.of if self.of else 1.0


@dataclass(frozen=True, slots=True)
class AnswerQuality:
    answerer: str
    """"extractive", "llm", or "recorded"."""
    model: str | None
    release_id: str
    eval_set: str
    eval_set_hash: str
    context: str | None
    """The preset the passages came from; None for recorded answers."""
    rows: tuple[AnsweredQuery, ...]
    key_facts: Measured
    """Over the answerable questions with key facts; an abstention scores 0."""
    similarity: Measured
    faithfulness: tuple[JudgedAnswers, ...]
    """One a judge, over the answers that are no abstentions."""
    ragas: Mapping[str, Measured]
    abstention: Abstention
    failed: int
    tokens_mean: float | None
    tokens_most: int | None
    not_run: Mapping[str, str]
    """Judges that judged nothing, and why."""
    code: str = ""
    """Fingerprint of the code that answered and scored."""


def score_answers(
    eval_set: EvalSet,
    given: Mapping[str, Given],
    *,
    answerer: str,
    model: str | None,
    release_id: str,
    embedder: Embedder,
    judges: Judges,
    scorer: RagasScorer | None = None,
    context: str | None = None,
    code: str = "",
) -> AnswerQuality:
    """`given` by query id; questions without an entry are left out. `scorer` None: ragas' own metrics are not run."""
    asked = [query for query in eval_set.queries if query.id in given]
    judged = _judged(asked, given, judges)
    rows = tuple(_row(q, given[q.id], embedder, judged.get(q.id, {}), scorer) for q in asked)
    pairs = [(query, row) for query, row in zip(asked, rows, strict=True) if query.answerable]
    referenced = [row for query, row in pairs if query.reference_answer]
    answered = [row for row in rows if row.failure is None]
    tokens = [row.tokens for row in rows if row.tokens is not None]
    return AnswerQuality(
        answerer=answerer,
        model=model,
        release_id=release_id,
        eval_set=eval_set.name,
        eval_set_hash=eval_set.content_hash,
        context=context,
        rows=rows,
        key_facts=_measured([row.key_facts for query, row in pairs if query.key_facts]),
        similarity=_measured([row.similarity for row in referenced]),
        faithfulness=tuple(
            judged_answers(judge, [row.judgements[judge.name] for row in rows if judge.name in row.judgements])
            for judge in judges.judges
        ),
        ragas={name: _measured([row.ragas.get(name) for row in referenced]) for name in METRICS} if scorer else {},
        abstention=abstention_of([(row.answerable, row.abstained) for row in answered]),
        failed=len(rows) - len(answered),
        tokens_mean=math.fsum(tokens) / len(tokens) if tokens else None,
        tokens_most=max(tokens, default=None),
        not_run=judges.not_run,
        code=code,
    )


def _judged(
    asked: Sequence[Query], given: Mapping[str, Given], judges: Judges
) -> Mapping[str, Mapping[str, Judgement]]:
    """By query id and judge; an abstention says nothing that could be unfaithful."""
    said = [(query, given[query.id]) for query in asked]
    said = [(query, answer) for query, answer in said if not (answer.abstained or answer.failure)]
    by_query: dict[str, dict[str, Judgement]] = {query.id: {} for query, _ in said}
    for judge in judges.judges:
        judgements = judge_all(judge, [(answer.text, answer.passages, query.text) for query, answer in said])
        for (query, _), judgement in zip(said, judgements, strict=True):
            by_query[query.id][judge.name] = judgement
    return by_query


def _row(
    query: Query, given: Given, embedder: Embedder, judgements: Mapping[str, Judgement], scorer: RagasScorer | None
) -> AnsweredQuery:
    counts = query.answerable and given.failure is None
    text = "" if given.abstained else given.text
    reference = query.reference_answer if counts else None
    scored = None
    if scorer is not None and reference and text:
        scored = scorer.score(question=query.text, answer=text, passages=given.passages, reference=reference)
    return AnsweredQuery(
        query_id=query.id,
        tags=query.tags,
        answerable=query.answerable,
        text=given.text,
        abstained=given.abstained,
        reason=given.reason,
        failure=given.failure,
        key_facts=key_fact_recall(query.key_facts, text) if counts else None,
        similarity=reference_similarity(text, reference, embedder) if reference else None,
        tokens=given.tokens,
        passages=len(given.passages),
        markers=given.markers,
        judgements=judgements,
        ragas=scored.values if scored else {},
        ragas_failures=scored.failures if scored else {},
    )


def _measured(values: Sequence[float | None]) -> Measured:
    known = [value for value in values if value is not None]
    valid = bool(known) and len(known) >= MIN_COVERAGE * len(values)
    return Measured(math.fsum(known) / len(known) if valid else None, len(known), len(values))
