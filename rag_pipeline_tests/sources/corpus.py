"""A small folder of files, and what snapshots of it say."""

from pathlib import Path
from typing import Any

from rag_pipeline.parquet import read_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Document, LedgerEntry
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.sources.snapshot import SnapshotInfo, take_snapshot


class Corpus:
    """A folder of files and the snapshots taken of it."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "docs"
        self.folder.mkdir()
        self.paths = CollectionPaths(tmp_path / "data")

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def settings(self, **changed: Any) -> CollectionSettings:
        return CollectionSettings.model_validate({"sources": [{"path": str(self.folder)}], **changed})

    def snapshot(self, previous: Path | None = None, **changed: Any) -> SnapshotInfo:
        return take_snapshot(self.settings(**changed), self.paths, previous=previous)


def documents(info: SnapshotInfo) -> dict[str, Document]:
    return {d.doc_id: d for d in read_rows(info.folder / "documents.parquet", Document)}


def ledger(info: SnapshotInfo) -> dict[str, tuple[str, str]]:
    entries = read_rows(info.folder / "ledger.parquet", LedgerEntry)
    return {e.path: (e.outcome, e.rule) for e in entries if e.outcome != "notice"}
