import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.parquet import ROW_GROUP, RowSlices, RowWriter, read_rows, write_rows


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


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2 * ROW_GROUP + 3)), max_size=6))
def test_stored_rows_and_new_ones_make_the_file_that_new_ones_alone_make(runs: list[tuple[bool, int]]) -> None:
    rows = [Row(str(i), ((i, "x"),)) for i in range(sum(count for _, count in runs))]
    with tempfile.TemporaryDirectory() as folder:
        plain, mixed = Path(folder, "plain.parquet"), Path(folder, "mixed.parquet")
        write_rows(plain, Row, rows)
        stored, first = RowSlices(plain), 0
        with RowWriter(mixed, Row) as writer:
            for is_stored, count in runs:
                if is_stored:
                    writer.write_table(stored.take(first, count))
                else:
                    for row in rows[first : first + count]:
                        writer.write(row)
                first += count
        stored.close()
        assert writer.count == len(rows)
        assert mixed.read_bytes() == plain.read_bytes()


def test_rows_that_are_not_there(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.parquet", Row, [Row("x"), Row("y")])
    slices = RowSlices(tmp_path / "a.parquet")
    assert slices.take(1, 1).column("name").to_pylist() == ["y"]
    assert len(slices.take(2, 0)) == 0
    with pytest.raises(IndexError, match="row 2 of 2"):
        slices.take(1, 2)
    with pytest.raises(IndexError, match="row group 1 of 1"):
        slices.take(ROW_GROUP, 1)
    slices.close()
