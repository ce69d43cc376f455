"""Questions before they have labels: read from a file, and named so that the same question has the same id again."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.eval_set import Query
from rag_pipeline.evaluation.labels import read_queries
from rag_pipeline.schema import Principal
from rag_pipeline.text.repair import repair_text

MOST_CHARACTERS = 10_000
_SPACE = re.compile(r"\s+")


def normal_text(text: str) -> str:
    """What makes two questions one: NFKC, case, white space and closing punctuation don't count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SPACE.sub(" ", folded).strip().rstrip(" ?!.。？！")


def question_id(prefix: str, text: str, *, filters: Mapping[str, object], principal: Principal | None) -> str:
    """Another filter or another asker makes another question."""
    who = None if principal is None else [principal.identity, *sorted(principal.groups)]
    said = json.dumps([normal_text(text), filters, who], sort_keys=True, ensure_ascii=True, default=str)
    return f"{prefix}-{hashlib.sha256(said.encode('ascii')).hexdigest()[:12]}"


def read_questions(file: Path, *, principal: Principal | None = None) -> tuple[Query, ...]:
    """A `.jsonl` file has rows as in queries.jsonl; any other file one question a line.

    `principal` asks those that name nobody. Raises InvalidEvalSet with file and line.
    """
    if not file.is_file():
        raise InvalidEvalSet(f"{file}: no such file; write one question a line, or rows as in queries.jsonl")
    if file.suffix == ".jsonl":
        queries, problems = read_queries(file)
        errors = [str(p) for p in problems if p.severity == "error"]
        if errors:
            raise InvalidEvalSet(f"{file}: correct these lines:\n  " + "\n  ".join(errors[:20]))
        return tuple(_asked_by(query, principal) for query in queries)
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidEvalSet(f"{file}: not valid UTF-8 ({error.reason}); save it as UTF-8") from None
    return typed_questions(text.splitlines(), principal=principal)


def typed_questions(lines: Iterable[str], *, principal: Principal | None = None) -> tuple[Query, ...]:
    """One question a line; blank lines are left out, and so is a question that came before. Raises InvalidEvalSet."""
    found: dict[str, Query] = {}
    for number, line in enumerate(lines, start=1):
        text = repair_text(line).strip()
        if not text:
            continue
        if len(text) > MOST_CHARACTERS:
            raise InvalidEvalSet(f"line {number}: a question of {len(text)} characters; write one question a line")
        query_id = question_id("q", text, filters={}, principal=principal)
        found.setdefault(query_id, Query(query_id, text, principal=principal))
    return tuple(found.values())


def _asked_by(query: Query, principal: Principal | None) -> Query:
    return query if query.principal is not None else replace(query, principal=principal)
