"""Answers that were made elsewhere: one JSON object a line.

    {"query_id": "q-001", "answer": "...", "passages": ["...", "..."]}

`passages` is what the answer was made from; `abstained` and `tokens` (of the context) may stand beside them. Judging
them is answer_quality.py's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.answer_quality import Given
from rag_pipeline.evaluation.eval_set import EvalSet, LabelProblem
from rag_pipeline.evaluation.rows import read_rows
from rag_pipeline.settings.base import Strict, explain


class _Row(Strict):
    query_id: str
    answer: str
    passages: tuple[str, ...] = ()
    abstained: bool | None = None
    """None: abstained where the answer is empty."""
    tokens: Annotated[int, Field(ge=0)] | None = None


def read_recorded(file: Path, eval_set: EvalSet) -> Mapping[str, Given]:
    """Answers by query id. Raises InvalidEvalSet that lists every problem with its line: bad JSON, an unknown key or
    question, a question answered twice."""
    problems: list[LabelProblem] = []
    known = {query.id for query in eval_set.queries}
    found: dict[str, Given] = {}
    for line, raw in read_rows(file, problems):
        try:
            row = _Row.model_validate(raw)
        except ValidationError as error:
            problems.append(LabelProblem(file.name, line, explain(error, "answer")))
            continue
        if row.query_id not in known:
            told = f"no question of {eval_set.name!r} has the id {row.query_id!r}"
            problems.append(LabelProblem(file.name, line, told))
        elif row.query_id in found:
            problems.append(LabelProblem(file.name, line, f"question {row.query_id!r} is answered twice"))
        else:
            abstained = not row.answer.strip() if row.abstained is None else row.abstained
            found[row.query_id] = Given(row.answer, row.passages, abstained, tokens=row.tokens)
    if not found and not problems:
        problems.append(LabelProblem(file.name, 0, "holds no answer"))
    if problems:
        listed = "\n  ".join(map(str, problems[:20]))
        raise InvalidEvalSet(f"{file}: {len(problems)} errors; correct these lines:\n  {listed}")
    return found
