"""Lines of a label file as JSON objects with their line numbers; every fault becomes a problem, none is silent."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.eval_set import LabelProblem
from rag_pipeline.text.repair import repair

Row = dict[str, Any]


def read_rows(file: Path, problems: list[LabelProblem]) -> Iterator[tuple[int, Row]]:
    """`(line number, object)` of every good line, repaired as documents are. Raises InvalidEvalSet without a file."""
    for number, text in read_lines(file, problems):
        try:
            row = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            problems.append(LabelProblem(file.name, number, f"not valid JSON: {error}"))
            continue
        if not isinstance(row, dict):
            problems.append(LabelProblem(file.name, number, f"a JSON object is expected, not {type(row).__name__}"))
            continue
        yield number, _repaired(row)


def read_lines(file: Path, problems: list[LabelProblem]) -> Iterator[tuple[int, str]]:
    """`(line number, text)` of the lines that are not blank. Raises InvalidEvalSet where there is no such file."""
    if not file.is_file():
        raise InvalidEvalSet(f"{file}: no such file; eval_sets/README.md describes what an eval set holds")
    for number, raw in enumerate(file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.append(LabelProblem(file.name, number, f"not valid UTF-8 at byte {error.start} of the line"))
            continue
        if text.strip():
            yield number, text


def _repaired(value: Any) -> Any:
    """Escapes such as \\ud800 give lone surrogates, which nothing downstream can store."""
    if isinstance(value, str):
        return repair(value).text
    if isinstance(value, list):
        return [_repaired(v) for v in value]
    if isinstance(value, dict):
        return {repair(k).text: _repaired(v) for k, v in value.items()}
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        twice = sorted({key for key, _ in pairs if sum(k == key for k, _ in pairs) > 1})
        raise ValueError(f"the key {twice[0]!r} occurs twice")
    return row


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
