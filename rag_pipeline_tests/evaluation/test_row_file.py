from dataclasses import dataclass

from pydantic import TypeAdapter

from rag_pipeline.evaluation.row_file import append_row, read_rows


@dataclass(frozen=True)
class Row:
    day: int
    value: float


ROWS = TypeAdapter(Row)


def test_rows_come_back_in_order_and_to_the_last_bit(tmp_path):
    file = tmp_path / "rows.jsonl"
    assert read_rows(file, ROWS) == ()
    assert append_row(file, Row(1, 0.1 + 0.2), ROWS, keep=9) == (Row(1, 0.1 + 0.2),)
    assert append_row(file, Row(2, 1 / 3), ROWS, keep=9) == (Row(1, 0.1 + 0.2), Row(2, 1 / 3))
    assert read_rows(file, ROWS) == (Row(1, 0.1 + 0.2), Row(2, 1 / 3))


def test_only_the_last_ones_are_kept(tmp_path):
    file = tmp_path / "rows.jsonl"
    for day in range(5):
        kept = append_row(file, Row(day, 0.0), ROWS, keep=2)
    assert [row.day for row in kept] == [row.day for row in read_rows(file, ROWS)] == [3, 4]
    assert file.read_text("utf-8").count("\n") == 2


def test_a_line_that_is_not_a_row_costs_itself_alone(tmp_path):
    file = tmp_path / "rows.jsonl"
    append_row(file, Row(1, 0.0), ROWS, keep=9)
    with file.open("a") as opened:
        opened.write('{"day": 2, "val')
    append_row(file, Row(3, 0.0), ROWS, keep=9)
    assert [row.day for row in read_rows(file, ROWS)] == [1, 3]
