"""Reading an eval set folder: `queries.jsonl`, `judgements.jsonl` and, if there is one, `eval_set.toml`.

Reading is strict, and collects every problem before it gives up. A folder with `qrels/` is read by beir.py. Whether the
labels still fit a corpus is not known here: resolve.py asks that.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, ValidationError, model_validator

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.beir import read_beir
from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, LabelProblem, Query
from rag_pipeline.evaluation.rows import read_rows
from rag_pipeline.schema import Principal
from rag_pipeline.settings.base import Strict, explain

QUERIES = "queries.jsonl"
JUDGEMENTS = "judgements.jsonl"
ABOUT = "eval_set.toml"

Text = Annotated[str, StringConstraints(strict=True, pattern=r"\S")]


class _PrincipalRow(Strict):
    identity: Text
    groups: tuple[Text, ...] = ()


class _QueryRow(Strict):
    id: Text
    text: Text
    tags: tuple[Text, ...] = ()
    filters: Mapping[str, object] = {}
    principal: _PrincipalRow | None = None
    reference_answer: Text | None = None
    key_facts: tuple[Text, ...] = ()


class _JudgementRow(Strict):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query_id: Text
    document: Text
    quote: Text | None = None
    start: Annotated[int, Field(ge=0)] | None = None
    end: int | None = None
    section: Text | None = None
    grade: Literal[1, 2, 3]

    @model_validator(mode="after")
    def _one_passage(self) -> "_JudgementRow":
        if (self.start is None) != (self.end is None):
            raise ValueError("`start` and `end` go together")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError("`end` must be after `start`")
        if self.section is not None and (self.quote is not None or self.start is not None):
            raise ValueError("`section` can't be combined with `quote`, `start` or `end`")
        return self


class _About(Strict):
    name: str = ""
    version: str = ""
    description: str = ""
    licence: str = ""
    synthetic: bool = False
    """Some questions were written by a language model; each of them is tagged so."""
    restricted: bool = False
    """Some labels quote documents that have an access list: the set is as private as they are."""
    from_log: bool = False
    """Some questions were asked by users and recorded."""


def load_eval_set(folder: Path) -> EvalSet:
    """The eval set in `folder`. Raises InvalidEvalSet that lists its errors, with file and line."""
    eval_set, problems = read_eval_set(folder)
    errors = [str(p) for p in problems if p.severity == "error"]
    if errors:
        more = f"\n  and {len(errors) - 20} more" if len(errors) > 20 else ""
        raise InvalidEvalSet(
            f"{folder}: {len(errors)} errors; correct these lines:\n  " + "\n  ".join(errors[:20]) + more
        )
    return eval_set


def read_eval_set(folder: Path, *, split: str = "test") -> tuple[EvalSet, tuple[LabelProblem, ...]]:
    """What could be read, and every problem. `split` names the qrels file of a BEIR folder.

    Raises InvalidEvalSet where the folder or one of its files is missing.
    """
    if (folder / "qrels").is_dir():
        return read_beir(folder, split=split)
    problems: list[LabelProblem] = []
    about = read_about(folder, problems)
    queries = _read_queries(folder / QUERIES, problems)
    judgements = _read_judgements(folder / JUDGEMENTS, queries, problems)
    eval_set = EvalSet(
        name=about.name or folder.resolve().name,
        version=about.version,
        queries=tuple(query for query, _ in queries.values()),
        judgements=judgements,
    )
    return eval_set, tuple(problems)


def read_queries(file: Path) -> tuple[tuple[Query, ...], tuple[LabelProblem, ...]]:
    """Questions alone, as those that wait for labels. Raises InvalidEvalSet where there is no such file."""
    problems: list[LabelProblem] = []
    found = _read_queries(file, problems)
    return tuple(query for query, _ in found.values()), tuple(problems)


def read_about(folder: Path, problems: list[LabelProblem]) -> _About:
    file = folder / ABOUT
    if not file.is_file():
        return _About()
    try:
        return _About.model_validate(tomllib.loads(file.read_text("utf-8")))
    except ValidationError as error:
        problems.append(LabelProblem(ABOUT, 0, explain(error, "not usable")))
    except ValueError as error:
        problems.append(LabelProblem(ABOUT, 0, f"not readable as TOML: {error}"))
    return _About()


def _read_queries(file: Path, problems: list[LabelProblem]) -> dict[str, tuple[Query, int]]:
    found: dict[str, tuple[Query, int]] = {}
    for line, row in read_rows(file, problems):
        try:
            parsed = _QueryRow.model_validate(row)
        except ValidationError as error:
            problems.append(LabelProblem(file.name, line, explain(error, "query")))
            continue
        who = parsed.principal
        principal = None if who is None else Principal(identity=who.identity, groups=who.groups)
        query = Query(**{**dict(parsed), "principal": principal})
        if query.id not in found:
            found[query.id] = (query, line)
            continue
        first, first_line = found[query.id]
        if first == query:
            problems.append(LabelProblem(file.name, line, f"the same as line {first_line}; read once", "notice"))
        else:
            problems.append(
                LabelProblem(file.name, line, f"query id {query.id!r} is already used differently in line {first_line}")
            )
    if not found and not problems:
        problems.append(LabelProblem(file.name, 0, "holds no query; add at least one"))
    return found


def _read_judgements(
    file: Path, queries: dict[str, tuple[Query, int]], problems: list[LabelProblem]
) -> tuple[Judgement, ...]:
    found: dict[tuple[object, ...], Judgement] = {}
    judged: Counter[str] = Counter()
    for line, row in read_rows(file, problems):
        if isinstance(row.get("query_id"), str):
            judged[row["query_id"]] += 1
        try:
            judgement = Judgement(**dict(_JudgementRow.model_validate(row)), line=line)
        except ValidationError as error:
            problems.append(LabelProblem(file.name, line, explain(error, "judgement")))
            continue
        if problem := _contradiction(judgement, queries):
            problems.append(LabelProblem(file.name, line, problem))
            continue
        j = judgement
        first = found.setdefault((j.query_id, j.document, j.quote, j.start, j.end, j.section), judgement)
        if first is not judgement and first == judgement:
            problems.append(LabelProblem(file.name, line, f"the same as line {first.line}; read once", "notice"))
        elif first is not judgement:
            problems.append(
                LabelProblem(file.name, line, f"grade {j.grade}, but line {first.line} gives the passage {first.grade}")
            )
    for query, line in queries.values():
        if query.answerable and not judged[query.id]:
            problems.append(
                LabelProblem(
                    QUERIES, line, f"query {query.id!r} has no judgement; label it, or tag it unanswerable if it is"
                )
            )
    return tuple(found.values())


def _contradiction(judgement: Judgement, queries: dict[str, tuple[Query, int]]) -> str | None:
    if judgement.query_id not in queries:
        return f"no usable query has the id {judgement.query_id!r}"
    query, line = queries[judgement.query_id]
    if not query.answerable:
        return f"query {query.id!r} is tagged unanswerable (queries line {line}), but has this judgement"
    return None
