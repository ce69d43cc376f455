"""Recorded questions as questions of an eval set: the same question once, labelled where its askers said what is right.

A label quotes the document, so it is made only where the question's principal may read that document. Of a recorded
asker only a keyed hash is known: a question keeps a principal where the hash is that of the one who was named, and
otherwise stands as one that reads public documents only.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from rag_pipeline.evaluation.eval_set import Judgement, Query
from rag_pipeline.evaluation.passages import passage_label
from rag_pipeline.evaluation.question_file import question_id
from rag_pipeline.evaluation.quote import occurrences
from rag_pipeline.querylog.read import LogRows
from rag_pipeline.querylog.records import LoggedQuery
from rag_pipeline.schema import Principal

FROM_LOG = "from_log"
"""Tag of every question made here."""
GRADE = 3
"""Of a passage that more askers called useful than not."""

Asker = Literal["public", "named", "other"]
Place = tuple[str, str, int, int]
"""Release, document, start, end."""


class StoredTexts(Protocol):
    """What the making of labels asks of the stored releases."""

    @property
    def release_id(self) -> str:
        """In service."""
        ...

    def text(self, release_id: str, doc_id: str) -> str | None:
        """None where the release or the document in it is no longer stored."""
        ...

    def readable(self, doc_id: str, principal: Principal | None) -> bool:
        """In the release in service."""
        ...


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    query: Query
    asker: Asker
    asked: int
    useful: int
    """Ratings, of one result or of all."""
    not_useful: int
    first: str
    last: str
    """When it was asked, ISO 8601."""
    labels: tuple[Judgement, ...]
    """Empty: a candidate for judging."""
    unlabelled: Mapping[str, int]
    """Passages called useful that made no label, by reason."""
    restricted: bool
    """A label quotes a document that not everybody may read."""


def recorded_questions(
    rows: LogRows,
    *,
    stored: StoredTexts,
    asker_of: Callable[[Principal | None], str],
    principal: Principal | None = None,
    rated_only: bool = False,
) -> tuple[RecordedQuestion, ...]:
    """Most asked first. Questions are one where their normal text, their filters and their kind of asker are."""
    askers: dict[str, Asker] = {asker_of(None): "public"}
    if principal is not None:
        askers[asker_of(principal)] = "named"
    groups: dict[str, list[LoggedQuery]] = defaultdict(list)
    for asked in rows.queries:
        asker = askers.get(asked.asker, "other")
        who = principal if asker == "named" else None
        key = question_id("log", asked.query, filters=asked.filters, principal=who)
        groups[key if asker != "other" else f"{key}-other"].append(asked)
    made = (
        _question(name, group, rows, stored=stored, asker=askers.get(group[0].asker, "other"), principal=principal)
        for name, group in groups.items()
    )
    kept = [q for q in made if not rated_only or q.useful or q.not_useful]
    return tuple(sorted(kept, key=lambda q: (-q.asked, q.query.id)))


def _question(
    name: str,
    group: list[LoggedQuery],
    rows: LogRows,
    *,
    stored: StoredTexts,
    asker: Asker,
    principal: Principal | None,
) -> RecordedQuestion:
    votes: Counter[Place] = Counter()
    ratings: Counter[str] = Counter()
    for asked in group:
        for said in rows.feedback.get(asked.query_id, ()):
            ratings[said.rating] += 1
            for result in asked.results:
                if result.rank == said.rank:
                    place = (asked.release_id, result.doc_id, result.start, result.end)
                    votes[place] += 1 if said.rating == "useful" else -1
    wordings = Counter(asked.query for asked in group)
    who = principal if asker == "named" else None
    query = Query(name, wordings.most_common(1)[0][0], (FROM_LOG,), filters=group[0].filters, principal=who)
    labels: dict[tuple[object, ...], Judgement] = {}
    unlabelled: Counter[str] = Counter()
    for said_of in _labels(query, [place for place, vote in sorted(votes.items()) if vote > 0], stored):
        if isinstance(said_of, str):
            unlabelled[said_of] += 1
        else:
            labels[(said_of.document, said_of.quote, said_of.start)] = said_of
    times = sorted(asked.time for asked in group)
    return RecordedQuestion(
        query=query,
        asker=asker,
        asked=len(group),
        useful=ratings["useful"],
        not_useful=ratings["not_useful"],
        first=times[0],
        last=times[-1],
        labels=tuple(labels.values()),
        unlabelled=dict(unlabelled),
        restricted=any(not stored.readable(label.document, None) for label in labels.values()),
    )


def _labels(query: Query, places: list[Place], stored: StoredTexts) -> Iterator[Judgement | str]:
    """A label, or why there is none, for each passage that was called useful."""
    for release_id, doc_id, start, end in places:
        # First of all whether it may be read: a reason given later would tell of a document that may not.
        if not stored.readable(doc_id, query.principal):
            yield "not readable by the one who is named, or gone"
            continue
        then, now = stored.text(release_id, doc_id), stored.text(stored.release_id, doc_id)
        if then is None or now is None:
            yield "the release that answered is no longer stored"
            continue
        passage = then[start:end]
        found = occurrences(now, passage)
        if then == now:
            span = (start, end)
        elif len(found) == 1:
            span = found[0]
        else:
            yield "the passage has changed since"
            continue
        if not now[slice(*span)].strip():
            yield "the passage is blank"
            continue
        yield passage_label(query.id, document=doc_id, text=now, start=span[0], end=span[1], grade=GRADE)
