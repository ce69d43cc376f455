"""Frozen rows to Parquet and back, streamed in row groups, so that a corpus is never held twice.

A column's type follows the dataclass annotation; tuples of pairs and other nested values are stored as JSON text.
"""

import json
import typing
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP = 2000
_PLAIN = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


class RowWriter:
    """Rows pushed one after the other into one file, for stages that write several files in one pass.

    A context manager: the file appears under its name when the block ends, and not at all when it raises.
    """

    def __init__(self, path: Path, row_type: type) -> None:
        self._path = path
        self._partial = path.with_name(path.name + ".partial")
        self._type = row_type
        self._schema = arrow_schema(row_type)
        self._batch: list[Any] = []
        self._tables: list[pa.Table] = []
        self._held = 0
        self.count = 0

    def __enter__(self) -> Self:
        self._writer = pq.ParquetWriter(self._partial, self._schema, compression="zstd")
        return self

    def write(self, row: Any) -> None:
        self._batch.append(row)
        self._added(1)

    def write_table(self, table: pa.Table) -> None:
        """Rows of another file of the same type, as they are stored; the file comes out as if each had been written."""
        while len(table):
            part = table.slice(0, ROW_GROUP - self._held)
            self._close_batch()
            self._tables.append(part)
            self._added(len(part))
            table = table.slice(len(part))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._held:
                self._flush()
            self._writer.close()
            if kind is None:
                self._partial.replace(self._path)
        finally:
            self._partial.unlink(missing_ok=True)

    def _added(self, rows: int) -> None:
        self.count += rows
        self._held += rows
        if self._held == ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        self._close_batch()
        # One piece a column: how a column lies in memory decides how it is cut into pages.
        self._writer.write_table(pa.concat_tables(self._tables).combine_chunks())
        self._tables, self._held = [], 0

    def _close_batch(self) -> None:
        """The rows so far as a table."""
        if self._batch:
            columns = {
                name: [_encode(getattr(row, name), hint) for row in self._batch]
                for name, hint in _hints(self._type).items()
            }
            self._tables.append(pa.table(columns, schema=self._schema))
            self._batch = []


class RowSlices:
    """Runs of rows of a file that a RowWriter wrote, as they are stored; a row group is held at a time."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path)
        self._nothing = self._file.schema_arrow.empty_table()
        self._held: tuple[int, pa.Table] | None = None

    def take(self, first: int, count: int) -> pa.Table:
        """Raises IndexError where the file has fewer rows."""
        parts: list[pa.Table] = []
        while count:
            number, offset = divmod(first, ROW_GROUP)
            part = self._group(number).slice(offset, count)
            if not len(part):
                raise IndexError(f"row {first} of {self._file.metadata.num_rows}")
            parts.append(part)
            first, count = first + len(part), count - len(part)
        return pa.concat_tables(parts) if parts else self._nothing

    def close(self) -> None:
        self._file.close()

    def _group(self, number: int) -> pa.Table:
        if self._held is None or self._held[0] != number:
            if number >= self._file.num_row_groups:
                raise IndexError(f"row group {number} of {self._file.num_row_groups}")
            self._held = number, self._file.read_row_group(number)
        return self._held[1]


def write_rows(path: Path, row_type: type, rows: Iterable[Any]) -> int:
    """Write dataclass rows; returns their number. The file appears only when complete."""
    with RowWriter(path, row_type) as writer:
        for row in rows:
            writer.write(row)
    return writer.count


def read_rows(path: Path, row_type: type, *, columns: list[str] | None = None) -> Iterator[Any]:
    """Rows as instances of `row_type`, in file order. With `columns`, the other fields keep their defaults."""
    hints = _hints(row_type)
    names = columns or [f.name for f in fields(row_type)]
    for batch in pq.ParquetFile(path).iter_batches(batch_size=ROW_GROUP, columns=names):
        decoded = [_decoded(batch.column(name).to_pylist(), hints[name]) for name in names]
        for values in zip(*decoded, strict=True):
            yield row_type(**dict(zip(names, values, strict=True)))


@cache
def arrow_schema(row_type: type) -> pa.Schema:
    return pa.schema([(name, _arrow_type(hint)) for name, hint in _hints(row_type).items()])


@cache
def _hints(row_type: type) -> dict[str, Any]:
    hints = typing.get_type_hints(row_type)
    return {f.name: hints[f.name] for f in fields(row_type)}


def _without_none(hint: Any) -> Any:
    options = [a for a in typing.get_args(hint) if a is not type(None)]
    return options[0] if len(options) < len(typing.get_args(hint)) and len(options) == 1 else hint


def _is_strings(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple and typing.get_args(hint) == (str, ...)


def _arrow_type(hint: Any) -> pa.DataType:
    hint = _without_none(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if typing.get_origin(hint) is typing.Literal:
        return pa.string()
    return pa.list_(pa.string()) if _is_strings(hint) else pa.string()


def _encode(value: Any, hint: Any) -> Any:
    hint = _without_none(hint)
    if value is None or typing.get_origin(hint) is not tuple:
        return value
    return list(value) if _is_strings(hint) else json.dumps(value, ensure_ascii=False)


def _decoded(column: list[Any], hint: Any) -> list[Any]:
    """A column at a time: asking every value for its type costs more than reading it."""
    hint = _without_none(hint)
    if typing.get_origin(hint) is not tuple:
        return column
    decode = tuple if _is_strings(hint) else _pairs
    return [None if value is None else decode(value) for value in column]


def _pairs(text: str) -> tuple[Any, ...]:
    return tuple(tuple(pair) for pair in json.loads(text))
