"""A chunking as it lies on disk, read back for its checks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from rag_pipeline.parquet import read_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Chunk, Section


@dataclass(frozen=True, slots=True)
class StagedChunking:
    folder: Path
    snapshot: Path
    limit: int
    """Most tokens of a search text, special tokens included."""

    @classmethod
    def open(cls, paths: CollectionPaths, key: str) -> "StagedChunking":
        folder = paths.chunking(key)
        stored = json.loads((folder / "chunking.json").read_text("utf-8"))
        return cls(folder, paths.snapshot(stored["snapshot"]), int(stored["limit"]))

    @property
    def files(self) -> tuple[Path, ...]:
        """All that its checks read."""
        staged = (self.folder / f"{name}.parquet" for name in ("sections", "chunks"))
        return (*staged, self.folder / "chunking.json", self.snapshot / "documents.parquet")

    def sections(self) -> Iterator[Section]:
        return read_rows(self.folder / "sections.parquet", Section)

    def chunks(self) -> Iterator[Chunk]:
        return read_rows(self.folder / "chunks.parquet", Chunk)

    def texts(self) -> dict[str, str]:
        """Document texts by id."""
        table = pq.read_table(self.snapshot / "documents.parquet", columns=["doc_id", "text"])
        return dict(zip(table["doc_id"].to_pylist(), table["text"].to_pylist(), strict=True))
