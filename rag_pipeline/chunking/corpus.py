"""A snapshot to sections, chunks and ledger as Parquet, in one folder named by everything that went in.

Lives here: streaming, the key, the folder. How one document is chunked belongs to chunk.py.
"""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rag_pipeline.chunking.assemble import DocumentChunks
from rag_pipeline.chunking.boilerplate import find_boilerplate
from rag_pipeline.chunking.chunk import CHUNKER_VERSION, chunk_document
from rag_pipeline.durable import fsync_file, fsync_folder, temporary_name, write_json
from rag_pipeline.errors import InvalidSource
from rag_pipeline.parquet import RowWriter, read_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Chunk, Document, LedgerEntry, Progress, Section
from rag_pipeline.settings.build import ChunkingSettings
from rag_pipeline.text.tokenizer import Tokenizer

REPORT_EVERY = 50


@dataclass(frozen=True, slots=True)
class ChunkingInfo:
    key: str
    folder: Path
    documents: int
    """Documents looked at; duplicates of others are not."""
    sections: int
    chunks: int
    rejected: dict[str, int]
    """Pieces left out, by rule."""
    notices: dict[str, int]
    truncated: int
    """Chunks whose search text was cut off at the model's limit."""
    max_tokens: int
    """Of the longest search text."""
    mean_tokens: float
    reused: bool
    """The folder was there already."""


@dataclass(slots=True)
class _Totals:
    documents: int = 0
    sections: int = 0
    chunks: int = 0
    tokens: int = 0
    max_tokens: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    notices: Counter[str] = field(default_factory=Counter)

    def add(self, made: DocumentChunks) -> None:
        self.documents += 1
        self.sections += len(made.sections)
        self.chunks += len(made.chunks)
        self.tokens += sum(c.tokens for c in made.chunks)
        self.max_tokens = max([self.max_tokens, *(c.tokens for c in made.chunks)])
        self.rejected.update(e.rule for e in made.ledger if e.outcome == "filtered")
        self.notices.update(e.rule for e in made.ledger if e.outcome == "notice")


def chunk_corpus(
    snapshot: Path,
    settings: ChunkingSettings,
    tokenizer: Tokenizer,
    *,
    limit: int,
    paths: CollectionPaths,
    progress: Callable[[Progress], None] | None = None,
) -> ChunkingInfo:
    """Chunk every document of the snapshot folder into `paths.chunking(key)`; a folder of that key is reused.

    `limit` is the embedding model's, special tokens included. Raises InvalidSource where the snapshot is gone.
    """
    documents = snapshot / "documents.parquet"
    if not documents.is_file():
        raise InvalidSource(f"{snapshot} holds no documents.parquet; read the sources again")
    key = chunking_key(snapshot.name, settings, tokenizer, limit=limit)
    folder = paths.chunking(key)
    if folder.is_dir():
        return _stored(folder, key)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = temporary_name(folder)
    partial.mkdir()
    try:
        boilerplate = _boilerplate(documents, settings)
        totals = _write(
            documents, partial, settings, tokenizer, limit=limit, boilerplate=boilerplate, progress=progress
        )
        write_json(partial / "chunking.json", _json(totals, settings, tokenizer, snapshot=snapshot.name, limit=limit))
        _publish(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return _info(folder, key, json.loads((folder / "chunking.json").read_text("utf-8")), reused=False)


def chunking_key(snapshot_key: str, settings: ChunkingSettings, tokenizer: Tokenizer, *, limit: int) -> str:
    """Names a chunking by its inputs: equal inputs, equal chunks."""
    inputs = [snapshot_key, settings.model_dump(mode="json"), tokenizer.fingerprint, limit, CHUNKER_VERSION]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:20]


def _boilerplate(documents: Path, settings: ChunkingSettings) -> frozenset[str]:
    if settings.chunker != "sections":
        return frozenset()
    return find_boilerplate(
        read_rows(documents, Document),
        share=settings.boilerplate_share,
        min_documents=settings.boilerplate_min_documents,
    )


def _write(
    documents: Path,
    folder: Path,
    settings: ChunkingSettings,
    tokenizer: Tokenizer,
    *,
    limit: int,
    boilerplate: frozenset[str],
    progress: Callable[[Progress], None] | None,
) -> _Totals:
    totals = _Totals()
    with (
        RowWriter(folder / "sections.parquet", Section) as sections,
        RowWriter(folder / "chunks.parquet", Chunk) as chunks,
        RowWriter(folder / "ledger.parquet", LedgerEntry) as ledger,
    ):
        for document in _reported(documents, progress):
            made = chunk_document(document, settings, tokenizer, limit=limit, boilerplate=boilerplate)
            totals.add(made)
            for section in made.sections:
                sections.write(section)
            for chunk in made.chunks:
                chunks.write(chunk)
            for entry in made.ledger:
                ledger.write(entry)
    return totals


def _reported(documents: Path, progress: Callable[[Progress], None] | None) -> Iterator[Document]:
    """The documents that are no duplicates, with a report now and then and one at the end."""
    started = time.monotonic()
    done = 0
    total = _unique(documents)
    for document in read_rows(documents, Document):
        if document.canonical_id is not None:
            continue
        yield document
        done += 1
        if progress is not None and (done % REPORT_EVERY == 0 or done == total):
            progress(Progress("chunks", done, total, time.monotonic() - started, document.doc_id))


def _unique(documents: Path) -> int:
    """Documents that are no duplicates, from one column."""
    column = pq.ParquetFile(documents).read(columns=["canonical_id"]).column("canonical_id")
    return int(column.null_count)


def _json(
    totals: _Totals, settings: ChunkingSettings, tokenizer: Tokenizer, *, snapshot: str, limit: int
) -> dict[str, object]:
    return {
        "snapshot": snapshot,
        "settings": settings.model_dump(mode="json"),
        "tokenizer": tokenizer.fingerprint,
        "limit": limit,
        "chunker_version": CHUNKER_VERSION,
        "documents": totals.documents,
        "sections": totals.sections,
        "chunks": totals.chunks,
        "rejected": dict(sorted(totals.rejected.items())),
        "notices": dict(sorted(totals.notices.items())),
        "truncated": totals.notices["truncated"],
        "max_tokens": totals.max_tokens,
        "mean_tokens": round(totals.tokens / totals.chunks, 1) if totals.chunks else 0.0,
    }


def _publish(partial: Path, folder: Path) -> None:
    for file in sorted(partial.glob("*.parquet")):
        fsync_file(file)
    fsync_folder(partial)
    try:
        partial.rename(folder)
    except OSError:
        # Another run finished the same chunking first; any other fault rises.
        if not folder.is_dir():
            raise
    fsync_folder(folder.parent)


def _stored(folder: Path, key: str) -> ChunkingInfo:
    return _info(folder, key, json.loads((folder / "chunking.json").read_text("utf-8")), reused=True)


def _info(folder: Path, key: str, stored: dict[str, object], *, reused: bool) -> ChunkingInfo:
    names = ("documents", "sections", "chunks", "rejected", "notices", "truncated", "max_tokens", "mean_tokens")
    values: dict[str, Any] = {name: stored[name] for name in names}
    return ChunkingInfo(key=key, folder=folder, reused=reused, **values)
