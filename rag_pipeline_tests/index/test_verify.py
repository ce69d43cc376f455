import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from rag_pipeline.errors import IncompatibleBuild
from rag_pipeline.index.duckdb_settings import connect_for_building
from rag_pipeline.index.manifest import file_entries, read_manifest, write_manifest
from rag_pipeline.index.verify import sample, verify_build
from rag_pipeline_tests.stages import build, document


def resign(folder: Path) -> None:
    """Let the manifest agree with the files as they are, so that only the contents can tell."""
    from dataclasses import replace

    write_manifest(folder, replace(read_manifest(folder), files=file_entries(folder)))


def files(folder: Path, *, deep: bool = True) -> set[str]:
    return {problem.file for problem in verify_build(folder, deep=deep)}


def test_a_sound_build_has_no_problems(copied_build: Path) -> None:
    assert verify_build(copied_build) == ()
    assert verify_build(copied_build, deep=False) == ()


@pytest.mark.parametrize(
    "name",
    ["index.duckdb", "vectors.npy", "layout.npy", "postings/rows.npy", "postings/term_hash.npy", "manifest.json"],
)
@pytest.mark.parametrize("at", [0.05, 0.5, 0.95])
def test_one_flipped_bit_is_found_in_every_file(copied_build: Path, name: str, at: float) -> None:
    path = copied_build / name
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 1
    path.write_bytes(bytes(data))
    assert name in files(copied_build)


def test_missing_cut_and_unknown_files(copied_build: Path) -> None:
    (copied_build / "vectors.npy").unlink()
    data = (copied_build / "layout.npy").read_bytes()
    (copied_build / "layout.npy").write_bytes(data[:-4])
    (copied_build / "note.txt").touch()
    (copied_build / "index.duckdb.wal").touch()
    found = {p.file: p.message for p in verify_build(copied_build, deep=False)}
    assert found.keys() == {"vectors.npy", "layout.npy", "note.txt", "index.duckdb.wal"}
    assert "write-ahead log" in found["index.duckdb.wal"]
    assert "missing" in found["vectors.npy"]


def test_another_format_names_both(copied_build: Path) -> None:
    body = json.loads((copied_build / "manifest.json").read_text())
    body["format_version"] = 99
    (copied_build / "manifest.json").write_text(json.dumps(body))
    with pytest.raises(IncompatibleBuild, match=r"format 99.*format 2"):
        verify_build(copied_build)


def zero_vector(folder: Path) -> None:
    vectors = np.load(folder / "vectors.npy")
    vectors[3] = 0
    np.save(folder / "vectors.npy", vectors)


def other_vector(folder: Path) -> None:
    vectors = np.load(folder / "vectors.npy")
    vectors[[3, 4]] = vectors[[4, 3]]
    np.save(folder / "vectors.npy", vectors)


def fewer_vectors(folder: Path) -> None:
    np.save(folder / "vectors.npy", np.load(folder / "vectors.npy")[:-1])


def other_layout(folder: Path) -> None:
    layout = np.load(folder / "layout.npy")
    layout[0, 0] = 2
    np.save(folder / "layout.npy", layout)


def other_records(folder: Path) -> None:
    """The same lengths, another chunk's id: what is shown would not be what was found."""
    data = (folder / "records" / "chunks.bin").read_bytes()
    (folder / "records" / "chunks.bin").write_bytes(data.replace(b"agents.md#c0", b"agents.md#c1"))


def other_texts(folder: Path) -> None:
    data = (folder / "records" / "texts.bin").read_bytes()
    (folder / "records" / "texts.bin").write_bytes(data.replace(b"create_agent", b"delete_agent"))


def postings_of_another_row(folder: Path) -> None:
    rows = np.load(folder / "postings" / "rows.npy")
    np.save(folder / "postings" / "rows.npy", (rows + 1) % 8)


def unknown_terms(folder: Path) -> None:
    hashes = np.load(folder / "postings" / "term_hash.npy")
    np.save(folder / "postings" / "term_hash.npy", hashes - np.uint64(1))


@pytest.mark.parametrize(
    ("damage", "file"),
    [
        (zero_vector, "vectors.npy"),
        (other_vector, "vectors.npy"),
        (fewer_vectors, "index.duckdb"),
        (other_layout, "layout.npy"),
        (other_records, "records"),
        (other_texts, "records"),
        (postings_of_another_row, "postings"),
        (unknown_terms, "postings"),
    ],
)
def test_sidecars_that_disagree_with_the_tables(copied_build: Path, damage: Callable[[Path], None], file: str) -> None:
    damage(copied_build)
    resign(copied_build)
    assert files(copied_build) == {file}
    assert files(copied_build, deep=False) <= {file}


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("UPDATE chunks SET content = 'other' WHERE row = 2", "differ from their span"),
        ("UPDATE chunks SET section_id = 'nowhere' WHERE row = 2", "without their section"),
        ("UPDATE sections SET doc_id = 'nowhere' WHERE row = 2", "without their document"),
        ("UPDATE documents SET canonical_id = 'nowhere' WHERE doc_id = 'tokyo.md'", "duplicates without"),
        ("UPDATE chunks SET chunk_id = 'pump.md#c0'", "only 1 of 8 chunks have an id of their own"),
        ("UPDATE sections SET section_id = 'pump.md#s0' WHERE row = 0", "only 7 of 8 sections"),
        ("DELETE FROM ledger", "0 ledger, the manifest says 3"),
        ("DELETE FROM ledger WHERE path = 'pump.md'", "1 documents have no outcome"),
        ("UPDATE ledger SET path = 'ghost.md' WHERE path = 'pump.md'", "1 inputs are said to be indexed"),
        ("INSERT INTO ledger SELECT * FROM ledger LIMIT 1", "4 ledger"),
        (
            "INSERT INTO ledger VALUES ('pump.md', 'embed', 'failed', 'x', '', 0, 1, 1)",
            "0 chunks have no vector, 1 are",
        ),
        ("UPDATE chunk_tokens SET token_text = 'x' WHERE row = 0", "not what the analyzer makes"),
    ],
)
def test_tables_that_disagree(copied_build: Path, sql: str, message: str) -> None:
    connection = connect_for_building(copied_build / "index.duckdb")
    connection.execute(sql)
    connection.execute("CHECKPOINT")
    connection.close()
    resign(copied_build)
    assert any(message in problem.message for problem in verify_build(copied_build))


def test_every_vector_is_compared_with_the_table(tmp_path: Path) -> None:
    """Not only those of the sample."""
    folder = build(tmp_path, [document("a.md", *(f"paragraph number {n}" for n in range(200)))]).folder
    vectors = np.load(folder / "vectors.npy")
    outside = next(row for row in range(200) if row not in sample(200))
    vectors[outside] = -vectors[outside]
    np.save(folder / "vectors.npy", vectors)
    resign(folder)
    assert [problem.message for problem in verify_build(folder)] == ["1 rows differ from the table"]


def test_an_input_with_two_outcomes(tmp_path: Path) -> None:
    info = build(tmp_path, [document("a.md", "one two")])
    connection = connect_for_building(info.folder / "index.duckdb")
    connection.execute("UPDATE ledger SET outcome = 'skipped'; INSERT INTO ledger SELECT * FROM ledger")
    connection.execute("CHECKPOINT")
    connection.close()
    resign(info.folder)
    assert "ledger.parquet" in files(info.folder)


def test_a_database_that_is_none(copied_build: Path) -> None:
    (copied_build / "index.duckdb").write_bytes(b"not a database" * 1000)
    resign(copied_build)
    assert files(copied_build) == {"index.duckdb"}


def test_a_database_with_another_build_inside(copied_build: Path) -> None:
    """Two builders at once once wrote the store of one beside the manifest of the other."""
    connection = duckdb.connect(str(copied_build / "index.duckdb"))
    connection.execute("LOAD '" + _vss() + "'")
    connection.execute("UPDATE index_info SET value = 'other' WHERE key = 'build_key'")
    connection.close()
    resign(copied_build)
    assert any("build key" in problem.message for problem in verify_build(copied_build, deep=False))


def _vss() -> str:
    from rag_pipeline.index.duckdb_settings import extension_file

    return str(extension_file("vss"))
