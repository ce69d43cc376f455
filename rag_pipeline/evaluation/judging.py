"""Grades as a person gives them: each is on disk before the next passage is shown, and a later start goes on there.

`pools.jsonl` holds what is to be judged, `judging.jsonl` every grade in the order it was given; neither is ever
rewritten. What they come to is an eval set: a question counts once all of its passages are judged.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rag_pipeline.durable import append_private
from rag_pipeline.evaluation.eval_set import UNANSWERABLE, Judgement, Query
from rag_pipeline.evaluation.passages import passage_label
from rag_pipeline.evaluation.pooling import Pool, PooledPassage
from rag_pipeline.evaluation.quote import occurrences
from rag_pipeline.evaluation.set_writer import Labelled, make_folder, query_row
from rag_pipeline.schema import Principal

POOLS = "pools.jsonl"
GRADES = "judging.jsonl"
POOLED = "pooled"
"""Tag of a question that was judged this way."""

Verdict = Literal["unanswerable", "left_out"]


@dataclass(frozen=True, slots=True)
class Task:
    """One passage to judge."""

    pool: Pool
    passage: PooledPassage
    number: int
    """From 1, among the pool's."""


class Judging:
    """The state of one folder. One person at a time; Raises OSError where a grade can't be stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pools: dict[str, Pool] = {}
        self.grades: dict[str, dict[str, int]] = {}
        self.verdicts: dict[str, Verdict] = {}
        self.unreadable = 0
        """Lines that a crash has torn; what they said has to be judged again."""
        self._given: list[tuple[str, str]] = []
        for row in self._rows(POOLS):
            pool = _pool_of(row)
            self.pools.setdefault(pool.query.id, pool)
        for row in self._rows(GRADES):
            self._take(row)

    def add(self, pool: Pool) -> None:
        """A question that has a pool keeps it, and its grades."""
        if pool.query.id not in self.pools:
            make_folder(self.folder)
            append_private(self.folder / POOLS, json.dumps(_pool_row(pool), ensure_ascii=False))
            self.pools[pool.query.id] = pool

    def next(self, *, skipped: frozenset[str] = frozenset()) -> Task | None:
        """The first passage without a grade, of questions that are neither settled nor in `skipped`."""
        for query_id, pool in self.pools.items():
            if query_id in self.verdicts or query_id in skipped:
                continue
            graded = self.grades.get(query_id, {})
            for number, passage in enumerate(pool.passages, start=1):
                if passage.key not in graded:
                    return Task(pool, passage, number)
        return None

    def grade(self, task: Task, grade: int) -> None:
        self._store({"query_id": task.pool.query.id, "passage": task.passage.key, "grade": grade})

    def undo(self) -> bool:
        """Take back the last grade given since the start; False where there is none."""
        if not self._given:
            return False
        query_id, key = self._given.pop()
        self._store({"query_id": query_id, "passage": key, "grade": None})
        return True

    def settle(self, query_id: str, verdict: Verdict) -> None:
        """What becomes of a question that no passage answers."""
        self._store({"query_id": query_id, "verdict": verdict})

    @property
    def waiting(self) -> int:
        """Questions that are not judged in full, or about which nothing is decided."""
        undecided = {pool.query.id for pool in self.unsettled()}
        return sum(
            query_id not in self.verdicts and (query_id in undecided or not self.is_complete(query_id))
            for query_id in self.pools
        )

    def is_complete(self, query_id: str) -> bool:
        return all(p.key in self.grades.get(query_id, {}) for p in self.pools[query_id].passages)

    def unsettled(self) -> tuple[Pool, ...]:
        """Judged in full, without a passage that answers, and nothing decided about it yet."""
        return tuple(
            pool
            for query_id, pool in self.pools.items()
            if self.is_complete(query_id) and query_id not in self.verdicts and not self._answers(query_id)
        )

    def labelled(self, texts: Mapping[str, str]) -> tuple[list[Labelled], list[str]]:
        """The questions judged in full with their labels, and of each that could not be labelled the reason.

        `texts` has the documents as they are now, by id.
        """
        done: list[Labelled] = []
        problems: list[str] = []
        for query_id, pool in self.pools.items():
            tags = tuple(dict.fromkeys((*pool.query.tags, POOLED)))
            if self.verdicts.get(query_id) == "unanswerable":
                done.append((replace(pool.query, tags=(*tags, UNANSWERABLE)), ()))
            elif self.is_complete(query_id) and self._answers(query_id):
                labels = list(_labels(pool, self.grades[query_id], texts))
                lost = [said for said in labels if isinstance(said, str)]
                if lost:
                    problems += [f"question {pool.query.text!r}: {said}" for said in lost]
                else:
                    done.append((replace(pool.query, tags=tags), [j for j in labels if isinstance(j, Judgement)]))
        return done, problems

    def _answers(self, query_id: str) -> bool:
        return any(self.grades.get(query_id, {}).values())

    def _store(self, row: dict[str, Any]) -> None:
        append_private(self.folder / GRADES, json.dumps(row, ensure_ascii=False))
        self._take(row)
        if row.get("grade") is not None:
            self._given.append((row["query_id"], row["passage"]))

    def _take(self, row: Mapping[str, Any]) -> None:
        query_id = row["query_id"]
        if "verdict" in row:
            self.verdicts[query_id] = row["verdict"]
        elif row["grade"] is None:
            self.grades.get(query_id, {}).pop(row["passage"], None)
        else:
            self.grades.setdefault(query_id, {})[row["passage"]] = row["grade"]

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        file = self.folder / name
        for line in file.read_bytes().split(b"\n") if file.is_file() else ():
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                self.unreadable += 1
                continue
            yield row


def _labels(pool: Pool, grades: Mapping[str, int], texts: Mapping[str, str]) -> Iterator[Judgement | str]:
    for passage in pool.passages:
        if not grades[passage.key]:
            continue
        text = texts.get(passage.document, "")
        span = (passage.start, passage.end)
        if text[slice(*span)] != passage.text:  # edited since the pool was made
            found = occurrences(text, passage.text)
            if len(found) != 1:
                yield f"{passage.key} has changed since it was judged; judge the question anew in another folder"
                continue
            span = found[0]
        yield passage_label(
            pool.query.id,
            document=passage.document,
            text=text,
            start=span[0],
            end=span[1],
            grade=grades[passage.key],
        )


def _pool_row(pool: Pool) -> dict[str, Any]:
    return {
        "query": query_row(pool.query),
        "release": pool.release_id,
        "passages": [
            {
                "document": p.document,
                "start": p.start,
                "end": p.end,
                "title": p.title,
                "headers": list(p.headers),
                "text": p.text,
                "lead": p.lead,
                "found_by": list(pool.found_by[p.key]),
            }
            for p in pool.passages
        ],
        "failures": dict(pool.failures),
    }


def _pool_of(row: Mapping[str, Any]) -> Pool:
    asked = dict(row["query"])
    who = asked.pop("principal", None)
    principal = None if who is None else Principal(who["identity"], tuple(who["groups"]))
    for name in ("tags", "key_facts"):
        asked[name] = tuple(asked.get(name, ()))
    passages, found_by = _passages(row["passages"])
    return Pool(Query(**asked, principal=principal), row["release"], passages, found_by, row["failures"])


def _passages(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[PooledPassage, ...], dict[str, tuple[str, ...]]]:
    found: list[PooledPassage] = []
    found_by: dict[str, tuple[str, ...]] = {}
    for row in rows:
        fields = dict(row)
        by = tuple(fields.pop("found_by"))
        passage = PooledPassage(**{**fields, "headers": tuple(fields["headers"])})
        found.append(passage)
        found_by[passage.key] = by
    return tuple(found), found_by
