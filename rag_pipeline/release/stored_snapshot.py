"""The corpus snapshot that a build was made from, staged again where gc has taken it: the build holds all of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from rag_pipeline.durable import fsync_folder, temporary_name, write_json
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.parquet import read_rows, write_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import LedgerEntry
from rag_pipeline.sources.ledger import ReadLedger


def stage_snapshot(paths: CollectionPaths, build_key: str) -> Path:
    """The staged folder of the build's snapshot; call under the build lock. Raises CorruptBuild."""
    build = paths.build(build_key)
    manifest = read_manifest(build)
    folder = paths.snapshot(manifest.snapshot_key)
    if (folder / "documents.parquet").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = temporary_name(folder)
    partial.mkdir()
    try:
        shutil.copyfile(build / "documents.parquet", partial / "documents.parquet")
        ledger = ReadLedger()
        ledger.add(_read_entries(build))
        write_rows(partial / "ledger.parquet", LedgerEntry, ledger.entries)
        card = {"key": folder.name, "counts": ledger.counts(), "rules": ledger.rules(), "documents": manifest.documents}
        write_json(partial / "snapshot.json", {**card, "restored_from": build_key})
        partial.rename(folder)
        fsync_folder(folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _read_entries(build: Path) -> Iterator[LedgerEntry]:
    """A build keeps the ledgers of all stages in one file; a snapshot's is that of reading."""
    return (entry for entry in read_rows(build / "ledger.parquet", LedgerEntry) if entry.stage == "read")
