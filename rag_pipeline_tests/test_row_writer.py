from dataclasses import dataclass
from pathlib import Path

import pytest

from rag_pipeline.parquet import ROW_GROUP, RowWriter, read_rows


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    pairs: tuple[tuple[int, str], ...] = ()


def test_rows_pushed_into_two_files_at_once(tmp_path: Path) -> None:
    with RowWriter(tmp_path / "a.parquet", Row) as a, RowWriter(tmp_path / "b.parquet", Row) as b:
        for i in range(ROW_GROUP + 1):
            a.write(Row(str(i)))
        b.write(Row("x", ((1, "y"),)))
    assert (a.count, b.count) == (ROW_GROUP + 1, 1)
    assert [r.name for r in read_rows(tmp_path / "a.parquet", Row)] == [str(i) for i in range(ROW_GROUP + 1)]
    assert list(read_rows(tmp_path / "b.parquet", Row)) == [Row("x", ((1, "y"),))]


def test_a_file_that_was_not_finished_does_not_appear(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stop"), RowWriter(tmp_path / "a.parquet", Row) as writer:
        writer.write(Row("x"))
        raise RuntimeError("stop")
    assert list(tmp_path.iterdir()) == []
