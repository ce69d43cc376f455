import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from rag_pipeline.errors import CorruptBuild, IncompatibleBuild, InvalidSettings
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.index.test_verify import resign
from rag_pipeline_tests.stages import build, document, pumps


def test_fetch_keeps_the_order_asked_for(pump_index: Index) -> None:
    records = pump_index.fetch([7, 0, 3])
    assert [r.row for r in records] == [7, 0, 3]
    first = records[1]
    assert (first.chunk_id, first.doc_id, first.source) == ("agents.md#c0", "agents.md", "/corpus/agents.md")
    assert first.headers == ((1, "Agents"), (2, "Part 0"))
    assert (first.start, first.end, first.section_start, first.section_end) == (10, 45, 10, 45)
    assert first.content == pumps()[1].text[10:45]
    assert pump_index.fetch([]) == []


def test_nearest_uses_the_hnsw_index(pump_index: Index) -> None:
    vector = WordEmbedder().embed(["Pump the pump moves oil"])[0]
    assert pump_index.nearest(vector, limit=1) == [3]
    assert "HNSW_INDEX_SCAN" in pump_index.nearest_plan(vector, limit=10)


def test_without_hnsw(tmp_path: Path) -> None:
    index = open_build(build(tmp_path, pumps(), settings=IndexSettings(hnsw=False)).folder)
    assert not index.has_hnsw
    with pytest.raises(InvalidSettings, match="no HNSW index"):
        index.nearest(np.ones(64, np.float32), limit=3)
    index.close()


def test_a_reader_can_touch_nothing(pump_index: Index) -> None:
    for connection in (pump_index.cursor(), pump_index._hnsw_cursor()):
        with pytest.raises(duckdb.Error):
            connection.execute("DELETE FROM chunks")
        with pytest.raises(duckdb.Error, match=r"(?i)disabled"):
            connection.execute("SELECT * FROM read_text('/etc/hostname')").fetchall()
        with pytest.raises(duckdb.Error, match="locked"):
            connection.execute("SET enable_external_access = true")


def test_each_thread_gets_its_own_rows(pump_index: Index) -> None:
    """One connection shared by threads returned other threads' rows, silently."""
    wrong: list[int] = []

    def ask(row: int) -> None:
        for _ in range(100):
            if pump_index.fetch([row])[0].row != row:
                wrong.append(row)

    threads = [threading.Thread(target=ask, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_build_of_another_format(copied_build: Path) -> None:
    text = (copied_build / "manifest.json").read_text().replace('"format_version": 2', '"format_version": 3')
    (copied_build / "manifest.json").write_text(text)
    with pytest.raises(IncompatibleBuild, match=r"format 3.*reads format 2"):
        open_build(copied_build)


@pytest.mark.parametrize("name", ["vectors.npy", "index.duckdb", "postings/weights.npy", "manifest.json"])
def test_a_cut_file(copied_build: Path, name: str) -> None:
    data = (copied_build / name).read_bytes()
    (copied_build / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(CorruptBuild):
        open_build(copied_build)


def test_a_write_ahead_log_is_refused(copied_build: Path) -> None:
    """Replaying one that mentions HNSW before vss is loaded aborts the process."""
    (copied_build / "index.duckdb.wal").write_bytes(b"x")
    with pytest.raises(CorruptBuild, match="write-ahead log"):
        open_build(copied_build)


def test_sidecars_of_another_size_than_the_tables(copied_build: Path) -> None:
    np.save(copied_build / "vectors.npy", np.load(copied_build / "vectors.npy")[:-1])
    resign(copied_build)
    with pytest.raises(CorruptBuild, match=r"vectors.npy is \(7, 64\), the manifest says \(8, 64\)"):
        open_build(copied_build)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CorruptBuild, match=r"manifest\.json"):
        open_build(tmp_path / "nowhere")


def test_several_readers_of_one_build(copied_build: Path) -> None:
    one, two = open_build(copied_build), open_build(copied_build)
    code = "import sys; from pathlib import Path; from rag_pipeline.index.open import open_build; "
    code += "print(open_build(Path(sys.argv[1])).fetch([0])[0].doc_id)"
    other = subprocess.run([sys.executable, "-c", code, str(copied_build)], capture_output=True, text=True, check=True)
    assert other.stdout == "agents.md\n"
    one.close()
    assert two.fetch([0])[0].doc_id == "agents.md"
    two.close()


def test_a_person_can_look_into_an_index_that_is_being_served(pump_index: Index) -> None:
    """DuckDB refuses to open one file twice in a process with different settings."""
    with duckdb.connect(str(pump_index.folder / "index.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM document_chunks").fetchall() == [(8,)]


def test_a_removed_build_stays_readable_for_who_has_it_open(copied_build: Path) -> None:
    index = open_build(copied_build)
    index.fetch([0])
    shutil.rmtree(copied_build)
    assert index.fetch([5])[0].doc_id == "pump.md"
    assert index.vectors[[0]].any()
    index.close()


def test_duplicates_and_locators(tmp_path: Path) -> None:
    documents = [
        document("a.md", "one two", locators=((0, "page 1"), (4, "page 2"))),
        document("z.md", "one two", title="A", canonical_id="a.md"),
        document("y.md", "one two", title="A", canonical_id="a.md"),
    ]
    index = open_build(build(tmp_path, documents).folder)
    assert index.chunks == 1
    assert index.fetch([0])[0].also_in == ("y.md", "z.md")
    assert index.fetch([0])[0].locators == ((0, "page 1"), (4, "page 2"))
    index.close()


def test_arrays_that_disagree_with_the_tables_are_told_as_damage(tmp_path: Path) -> None:
    index = open_build(build(tmp_path, [document("a.md", "the pump")]).folder)
    index.layout = replace(index.layout, document=index.layout.document + np.int32(7))
    with pytest.raises(CorruptBuild, match=f"release verify -c {tmp_path.name}`"):
        index.fetch([0])
