"""A history as a file: one JSON line a row, oldest first, only the last rows kept. What a row means is its owner's."""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from rag_pipeline.durable import append_line, write_text

T = TypeVar("T")


def append_row(file: Path, row: T, rows: TypeAdapter[T], *, keep: int) -> tuple[T, ...]:
    """Add the row and drop the oldest beyond `keep`; returns those kept. The caller holds a lock."""
    append_line(file, _line(row, rows))
    there = read_rows(file, rows)
    if len(there) > keep:
        write_text(file, "".join(f"{_line(kept, rows)}\n" for kept in there[-keep:]))
    return there[-keep:]


def read_rows(file: Path, rows: TypeAdapter[T]) -> tuple[T, ...]:
    """All rows, oldest first; none where there is no file. A line cut short by a crash is left out."""
    try:
        lines = file.read_text("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return ()
    found = []
    for line in lines:
        try:
            found.append(rows.validate_json(line))
        except ValidationError:
            continue
    return tuple(found)


def _line(row: T, rows: TypeAdapter[T]) -> str:
    plain: Any = rows.dump_python(row, mode="json")
    return json.dumps(plain, ensure_ascii=False, sort_keys=True)
