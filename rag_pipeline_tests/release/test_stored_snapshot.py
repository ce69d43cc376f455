from pathlib import Path

from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.parquet import read_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.stored_snapshot import stage_snapshot
from rag_pipeline.schema import Document, LedgerEntry
from rag_pipeline_tests.stages import build, pumps


def test_a_snapshot_that_is_gone_comes_back_from_the_build(tmp_path: Path) -> None:
    paths = CollectionPaths(tmp_path / "home" / "site")
    skipped = LedgerEntry("a.bin", "read", "skipped", "binary")
    dropped = LedgerEntry("pump.md", "chunk", "filtered", "base64", start=0, end=3)
    made = build(tmp_path, pumps(), builds=paths.builds, left_out=[skipped, dropped])
    folder = stage_snapshot(paths, made.key)
    assert folder == paths.snapshot(read_manifest(made.folder).snapshot_key)
    assert list(read_rows(folder / "documents.parquet", Document)) == pumps()
    entries = list(read_rows(folder / "ledger.parquet", LedgerEntry))
    assert skipped in entries and dropped not in entries and len(entries) == len(pumps()) + 1
    before = (folder / "documents.parquet").stat().st_mtime_ns
    assert stage_snapshot(paths, made.key) == folder
    assert (folder / "documents.parquet").stat().st_mtime_ns == before
