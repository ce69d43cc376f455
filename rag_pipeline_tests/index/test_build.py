import errno
import json
import multiprocessing
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from rag_pipeline.errors import CorruptBuild, IncompatibleBuild, InvalidSource
from rag_pipeline.index import build as build_module
from rag_pipeline.index.build import BuildInfo, build_index, remove_stale
from rag_pipeline.index.lease import hold_exclusive
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.index.open import open_build
from rag_pipeline.index.verify import verify_build
from rag_pipeline.parquet import read_rows
from rag_pipeline.schema import Chunk, Document, LedgerEntry, Progress, Section
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.stages import build, describe, document, pieces, pumps, write_stages


def visible(builds: Path) -> list[str]:
    return sorted(p.name for p in builds.iterdir() if not p.name.endswith(".lock"))


def test_tables_and_files(pump_build: BuildInfo) -> None:
    assert (pump_build.documents, pump_build.sections, pump_build.chunks) == (3, 8, 8)
    names = {p.name for p in pump_build.folder.iterdir()}
    parquet = {"documents.parquet", "sections.parquet", "chunks.parquet", "ledger.parquet"}
    assert names == parquet | {"index.duckdb", "vectors.npy", "layout.npy", "postings", "records", "manifest.json"}
    assert visible(pump_build.folder.parent) == [pump_build.key]
    assert [d.doc_id for d in read_rows(pump_build.folder / "documents.parquet", Document)] == [
        d.doc_id for d in pumps()
    ]
    assert sum(1 for _ in read_rows(pump_build.folder / "sections.parquet", Section)) == 8
    assert sum(1 for _ in read_rows(pump_build.folder / "chunks.parquet", Chunk)) == 8
    assert sum(1 for _ in read_rows(pump_build.folder / "ledger.parquet", LedgerEntry)) == 3


def test_any_duckdb_client_can_read_it(pump_build: BuildInfo) -> None:
    with duckdb.connect(str(pump_build.folder / "index.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT doc_id, content, parent_content, headers->>'h1', chunk_type FROM document_chunks"
            " ORDER BY doc_id, ordinal"
        ).fetchall()
        info = dict(connection.execute("SELECT key, value FROM index_info").fetchall())
        every = connection.execute("SELECT row, doc_id, ordinal FROM chunks ORDER BY row").fetchall()
    assert len(rows) == 8
    first = "Call create_agent to make an agent."
    assert rows[0] == ("agents.md", first, first, "Agents", "prose")
    assert info["build_key"] == pump_build.key
    assert info["default_access"] == "public"
    assert info["embedder.fingerprint"] == "words-64-256"
    assert [(d, o) for _, d, o in every] == sorted((d, o) for _, d, o in every)
    assert [row for row, _, _ in every] == list(range(8))


def test_the_same_inputs_are_no_work(tmp_path: Path) -> None:
    first = build(tmp_path, pumps())
    before = {p: p.stat().st_mtime_ns for p in first.folder.rglob("*")}
    again = build(tmp_path, pumps())
    assert again.reused and not first.reused
    assert replace(again, reused=False, seconds=0) == replace(first, seconds=0)
    assert {p: p.stat().st_mtime_ns for p in first.folder.rglob("*")} == before


def test_the_same_content_gives_the_same_rows_whatever_the_order(tmp_path: Path) -> None:
    first = build(tmp_path / "1", pumps())
    shuffled = build(tmp_path / "2", pumps()[::-1])
    for name in ("vectors.npy", "layout.npy", "postings/rows.npy", "postings/weights.npy"):
        assert (first.folder / name).read_bytes() == (shuffled.folder / name).read_bytes()


def test_a_damaged_build_is_moved_aside_and_made_again(tmp_path: Path) -> None:
    first = build(tmp_path, pumps())
    flip(first.folder / "vectors.npy")
    again = build(tmp_path, pumps())
    assert not again.reused
    assert again.problems[0].file == "vectors.npy"
    assert visible(first.folder.parent) == sorted([f".corrupt-{first.key}-1", first.key])
    assert verify_build(again.folder) == ()
    (again.folder / "manifest.json").write_text("{")
    assert build(tmp_path, pumps()).problems[0].file == "manifest.json"
    assert f".corrupt-{first.key}-2" in visible(first.folder.parent)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def test_every_chunk_of_a_document_is_kept(tmp_path: Path) -> None:
    info = build(tmp_path, [document("five.md", *(f"paragraph number {n}" for n in range(5)))])
    assert info.chunks == 5
    assert len(np.load(info.folder / "vectors.npy")) == 5


def test_an_empty_corpus(tmp_path: Path) -> None:
    info = build(tmp_path, [])
    assert (info.documents, info.chunks) == (0, 0)
    assert verify_build(info.folder) == ()
    index = open_build(info.folder)
    assert index.nearest(np.ones(64, np.float32), limit=3) == []
    assert not index.postings.scores(index.postings.term_numbers(["pump"])).size
    index.close()


def test_a_chunk_without_vector_is_left_out(tmp_path: Path) -> None:
    info = build(tmp_path, pumps(), rows=[0, 1, 3, 4, 5, 6, 7])
    assert info.chunks == 7
    with duckdb.connect(str(info.folder / "index.duckdb"), read_only=True) as connection:
        kept = {c for (c,) in connection.execute("SELECT chunk_id FROM chunks").fetchall()}
    assert "pump.md#c2" not in kept
    assert verify_build(info.folder) == ()
    assert read_manifest(info.folder).counts["unembedded"] == 1


def test_progress(tmp_path: Path) -> None:
    seen: list[Progress] = []
    stages = write_stages(tmp_path, pumps())
    build_index(
        *stages,
        settings=IndexSettings(),
        embedder=describe(WordEmbedder()),
        builds=tmp_path / "b",
        progress=seen.append,
    )
    assert [(p.done, p.total) for p in seen] == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("bad", [np.nan, 0.0, 3.0])
def test_a_vector_that_cannot_be_searched_is_refused(tmp_path: Path, bad: float) -> None:
    """One NaN is accepted on insert and then fails every distance query; a zero vector is near everything."""
    vectors = WordEmbedder().embed(["x"] * 8)
    vectors[5] *= bad
    with pytest.raises(InvalidSource, match="1 vectors"):
        build(tmp_path, pumps(), vectors=vectors)
    assert visible(tmp_path / "builds") == []


def test_another_dimension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IncompatibleBuild, match="dimension 32, but words has 64"):
        build(tmp_path, pumps(), vectors=WordEmbedder(32).embed(["x"] * 8))


@pytest.mark.parametrize("rows", [[0] * 8, [0, 1, 2, 3, 4, 5, 6, 8], [-1, 1, 2, 3, 4, 5, 6, 7]])
def test_vectors_of_another_chunking_are_refused(tmp_path: Path, rows: list[int]) -> None:
    with pytest.raises(InvalidSource, match="embedding step again"):
        build(tmp_path, pumps(), rows=rows, vectors=WordEmbedder().embed(["x"] * 8))
    with pytest.raises(InvalidSource, match="7 rows"):
        build(tmp_path, pumps(), rows=range(7), vectors=WordEmbedder().embed(["x"] * 8))


def test_a_stage_that_did_not_finish_is_refused(tmp_path: Path) -> None:
    snapshot, chunking, vectors = write_stages(tmp_path, pumps())
    (vectors / "vectors.npy").unlink()
    with pytest.raises(InvalidSource, match=r"vectors\.npy is missing"):
        build_index(
            snapshot,
            chunking,
            vectors,
            settings=IndexSettings(),
            embedder=describe(WordEmbedder()),
            builds=tmp_path / "b",
        )


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_stages_of_different_runs_are_refused(tmp_path: Path, stage: int) -> None:
    stages = list(write_stages(tmp_path, pumps()))
    stages[stage] = write_stages(tmp_path, pumps()[:2], name="2")[stage]
    with pytest.raises(InvalidSource, match="run the later stage again"):
        build_index(*stages, settings=IndexSettings(), embedder=describe(WordEmbedder()), builds=tmp_path / "builds")
    other = {**describe(WordEmbedder()), "fingerprint": "other"}
    with pytest.raises(InvalidSource, match="by model words-64-256, not other"):
        build_index(
            *write_stages(tmp_path, pumps()), settings=IndexSettings(), embedder=other, builds=tmp_path / "builds"
        )


def test_a_build_that_does_not_verify_is_not_kept(tmp_path: Path) -> None:
    """Chunks whose document is missing: a snapshot of another run."""
    orphans = [c for d in pumps() for c in pieces(d)[1]]
    with pytest.raises(CorruptBuild, match="does not verify"):
        build(tmp_path, pumps()[:1], chunks=orphans)
    assert visible(tmp_path / "builds") == []


def test_a_failure_leaves_nothing_and_the_served_build_intact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = build(tmp_path, pumps())

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(build_module, "write_manifest", full)
    with pytest.raises(OSError, match="No space"):
        build(tmp_path, pumps()[:2], name="2")
    assert visible(tmp_path / "builds") == [served.key]
    assert not list((tmp_path / "builds").glob(".tmp-*"))
    assert verify_build(served.folder) == ()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no right to mount a small tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path, tmp_path: Path) -> None:
    builds = small_disk / "builds"
    served = build(tmp_path, pumps(), builds=builds)
    words = " ".join(f"word{n}" for n in range(60_000))
    with pytest.raises((OSError, duckdb.Error, CorruptBuild)):
        build(tmp_path, [document("long.md", *(f"{n} {words}" for n in range(8)))], name="2", builds=builds)
    assert visible(builds) == [served.key]
    assert verify_build(served.folder) == ()


def test_stale_temporary_folders_go_and_live_ones_stay(tmp_path: Path) -> None:
    (tmp_path / ".tmp-dead").mkdir()
    (tmp_path / ".tmp-dead.lock").touch()
    (tmp_path / ".tmp-live").mkdir()
    with hold_exclusive(tmp_path / ".tmp-live.lock"):
        remove_stale(tmp_path)
        assert {p.name for p in tmp_path.iterdir()} == {".tmp-live", ".tmp-live.lock"}
    remove_stale(tmp_path)
    assert list(tmp_path.iterdir()) == []


def _build(root: Path, job: int, name: str) -> None:
    documents = [document(f"{name}-{n}.md", f"text {n} of {name}") for n in range(3)]
    build(root / str(job), documents, name=name, builds=root / "builds")


def test_builders_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    """Two of the same inputs (the second waits and finds the first one's build) beside one of other inputs."""
    spawn = multiprocessing.get_context("spawn")
    jobs = [spawn.Process(target=_build, args=(tmp_path, job, name)) for job, name in enumerate(("a", "a", "b"))]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    keys = visible(tmp_path / "builds")
    assert len(keys) == 2
    held = set()
    for key in keys:
        assert verify_build(tmp_path / "builds" / key) == ()
        manifest = json.loads((tmp_path / "builds" / key / "manifest.json").read_text())
        index = open_build(tmp_path / "builds" / key)
        documents = {record.doc_id.split("-")[0] for record in index.fetch([0, 1, 2])}
        index.close()
        assert {manifest["snapshot_key"]} == {f"snapshot-{d}" for d in documents}
        held |= documents
    assert held == {"a", "b"}
