"""Adding labelled questions to an eval set folder. A question that is there already stays as it is."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_pipeline.durable import write_private
from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.eval_set import Judgement, Query
from rag_pipeline.evaluation.labels import ABOUT, JUDGEMENTS, QUERIES

Labelled = tuple[Query, Sequence[Judgement]]


@dataclass(frozen=True, slots=True)
class Added:
    questions: int
    judgements: int
    kept: int
    """Questions that the folder had already."""


def make_folder(folder: Path) -> None:
    """A new one is for its owner alone: it holds what people asked, and may hold what only some may read.

    One that was there keeps its mode: it is somebody's, and the files written into it are private by themselves.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def add_questions(folder: Path, labelled: Sequence[Labelled], *, about: Mapping[str, str | bool]) -> Added:
    """Append to queries.jsonl and judgements.jsonl, and note in eval_set.toml what `about` says: texts where the file
    has none, marks (True) always.

    Nothing to add writes nothing. Raises InvalidEvalSet for a folder whose questions can't be read, OSError.
    """
    known = set(_known_ids(folder / QUERIES))
    fresh = [(query, judgements) for query, judgements in labelled if query.id not in known]
    if fresh:
        make_folder(folder)
        labels = [judgement_row(j) for _, judgements in fresh for j in judgements]
        # Should we be stopped in between, `evalset check` names the labels whose question is missing.
        _append(folder / JUDGEMENTS, labels)
        _append(folder / QUERIES, [query_row(query) for query, _ in fresh])
        _note(folder / ABOUT, about)
    return Added(len(fresh), sum(len(found) for _, found in fresh), len(labelled) - len(fresh))


def query_row(query: Query) -> dict[str, Any]:
    """As queries.jsonl has it; what is empty is left out."""
    row: dict[str, Any] = {"id": query.id, "text": query.text}
    if query.tags:
        row["tags"] = list(query.tags)
    if query.filters:
        row["filters"] = dict(query.filters)
    if query.principal is not None:
        row["principal"] = {"identity": query.principal.identity, "groups": list(query.principal.groups)}
    if query.reference_answer:
        row["reference_answer"] = query.reference_answer
    if query.key_facts:
        row["key_facts"] = list(query.key_facts)
    return row


def judgement_row(judgement: Judgement) -> dict[str, Any]:
    row: dict[str, Any] = {"query_id": judgement.query_id, "document": judgement.document}
    for name in ("quote", "start", "end", "section"):
        if (value := getattr(judgement, name)) is not None:
            row[name] = value
    return {**row, "grade": judgement.grade}


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _append(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    before = file.read_text("utf-8") if file.is_file() else ""
    if before and not before.endswith("\n"):
        before += "\n"
    write_private(file, before + json_lines(rows))


def _known_ids(file: Path) -> Iterable[str]:
    if not file.is_file():
        return
    for number, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise InvalidEvalSet(f"{file}:{number}: not valid JSON; correct it before questions are added") from None
        if isinstance(row, dict) and isinstance(row.get("id"), str):
            yield row["id"]


def _note(file: Path, about: Mapping[str, str | bool]) -> None:
    before = file.read_text("utf-8") if file.is_file() else ""
    try:
        known = tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise InvalidEvalSet(f"{file}: not readable as TOML: {error}; correct it before questions are added") from None
    lines = before.splitlines()
    for key, value in about.items():
        if value is True and known.get(key) is not True:
            lines = [line for line in lines if line.partition("=")[0].strip() != key]
            lines.append(f"{key} = true")
        elif isinstance(value, str) and value and key not in known:
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    write_private(file, "\n".join(lines) + "\n")
