import pytest

from rag_pipeline.parquet import read_rows, write_rows
from rag_pipeline.schema import Document, LedgerEntry, Section


def document(number: int, **fields) -> Document:
    return Document(
        doc_id=f"d{number}",
        source=f"/x/d{number}",
        text="é\ntext",
        format="text",
        content_hash="0",
        metadata_hash="0",
        title="T",
        **fields,
    )


@pytest.mark.parametrize(
    "row",
    [
        document(1),
        document(2, access=(), tags=("a", "b"), source_map=((0, 1), (5, 7)), locators=((0, "page 1"),)),
        document(3, access=("user:ada",), canonical_id="d1", extra='{"k": [1]}'),
    ],
)
def test_a_row_comes_back_as_it_was(tmp_path, row):
    write_rows(tmp_path / "rows.parquet", Document, [row])
    assert list(read_rows(tmp_path / "rows.parquet", Document)) == [row]


def test_no_access_list_and_an_empty_one_stay_different(tmp_path):
    """None is "has no list", () is "admits nobody": mixing them up would open a document to everybody."""
    write_rows(tmp_path / "rows.parquet", Document, [document(1, access=None), document(2, access=())])
    assert [d.access for d in read_rows(tmp_path / "rows.parquet", Document)] == [None, ()]


def test_more_rows_than_a_row_group_keep_their_order(tmp_path):
    rows = [LedgerEntry(f"p{i}", "read", "indexed", "ok") for i in range(4500)]
    assert write_rows(tmp_path / "rows.parquet", LedgerEntry, iter(rows)) == 4500
    assert list(read_rows(tmp_path / "rows.parquet", LedgerEntry)) == rows


def test_no_rows_make_a_readable_file(tmp_path):
    write_rows(tmp_path / "rows.parquet", Section, [])
    assert list(read_rows(tmp_path / "rows.parquet", Section)) == []


def test_a_failing_producer_leaves_no_file(tmp_path):
    def rows():
        yield document(1)
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        write_rows(tmp_path / "rows.parquet", Document, rows())
    assert list(tmp_path.iterdir()) == []


def test_a_subset_of_columns_leaves_the_others_at_their_defaults(tmp_path):
    write_rows(tmp_path / "rows.parquet", Section, [Section("s", "d", 0, 0, 9, ((1, "H"),), "prose")])
    with pytest.raises(TypeError):
        list(read_rows(tmp_path / "rows.parquet", Section, columns=["doc_id"]))
