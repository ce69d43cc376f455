"""A snapshot to sections, chunks and ledger as Parquet, in one folder named by everything that went in.

Lives here: streaming, the key, the folder. How one document is chunked belongs to chunk.py.
"""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rag_pipeline.chunking.assemble import DocumentChunks
from rag_pipeline.chunking.boilerplate import AskedKeys, block_keys, repeated
from rag_pipeline.chunking.chunk import CHUNKER_VERSION, chunk_document
from rag_pipeline.chunking.reuse import (
    EarlierChunks,
    EarlierRows,
    KeptDocument,
    answers,
    chunked_by,
    document_key,
    joined,
    keep,
    keys_in,
    read_earlier,
)
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
    kept: int = 0
    """Documents taken over from the chunking before, because nothing their chunks depend on changed."""
    problems: tuple[str, ...] = ()
    """Why what was kept of the chunking before could not be used."""


@dataclass(slots=True)
class _Totals:
    documents: int = 0
    sections: int = 0
    chunks: int = 0
    tokens: int = 0
    max_tokens: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    notices: Counter[str] = field(default_factory=Counter)

    kept: int = 0
    """Documents that were not chunked again."""

    def add(self, row: KeptDocument) -> None:
        self.documents += 1
        self.sections += row.sections
        self.chunks += row.chunks
        self.tokens += row.tokens
        self.max_tokens = max(self.max_tokens, row.max_tokens)
        for outcome, rule, count in json.loads(row.rules):
            counter = {"filtered": self.rejected, "notice": self.notices}.get(outcome)
            if counter is not None:
                counter[rule] += count


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
    binding = chunked_by(settings, tokenizer, limit=limit)
    earlier = read_earlier(paths, binding)
    if earlier.damaged is not None:
        shutil.rmtree(earlier.damaged)
    if folder.is_dir():
        return _stored(folder, key)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = temporary_name(folder)
    partial.mkdir()
    try:
        totals, rows = _write(documents, partial, settings, tokenizer, limit=limit, earlier=earlier, progress=progress)
        write_json(partial / "chunking.json", _json(totals, settings, tokenizer, snapshot=snapshot.name, limit=limit))
        _publish(partial, folder)
        keep(paths, folder, rows, binding)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    info = _info(folder, key, json.loads((folder / "chunking.json").read_text("utf-8")), reused=False)
    return replace(info, kept=totals.kept, problems=earlier.problems)


def chunking_key(snapshot_key: str, settings: ChunkingSettings, tokenizer: Tokenizer, *, limit: int) -> str:
    """Names a chunking by its inputs: equal inputs, equal chunks."""
    inputs = [snapshot_key, settings.model_dump(mode="json"), tokenizer.fingerprint, limit, CHUNKER_VERSION]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:20]


def _blocks(documents: Path, settings: ChunkingSettings, earlier: EarlierChunks) -> dict[str, tuple[str, str]]:
    """By document id: its key, and the joined keys of its blocks; none are needed by chunkers without boilerplate."""
    found: dict[str, tuple[str, str]] = {}
    for document in read_rows(documents, Document):
        if document.canonical_id is None:
            key = document_key(document)
            known = earlier.known.get(key)
            if settings.chunker != "sections":
                blocks = ""
            else:
                blocks = known.blocks if known is not None else joined(block_keys(document))
            found[document.doc_id] = key, blocks
    return found


def _write(
    documents: Path,
    folder: Path,
    settings: ChunkingSettings,
    tokenizer: Tokenizer,
    *,
    limit: int,
    earlier: EarlierChunks,
    progress: Callable[[Progress], None] | None,
) -> tuple[_Totals, list[KeptDocument]]:
    blocks = _blocks(documents, settings, earlier)
    boilerplate = repeated(
        (keys_in(of_document) for _, of_document in blocks.values()),
        share=settings.boilerplate_share,
        min_documents=settings.boilerplate_min_documents,
    )
    totals = _Totals()
    kept: list[KeptDocument] = []
    with (
        RowWriter(folder / "sections.parquet", Section) as sections,
        RowWriter(folder / "chunks.parquet", Chunk) as chunks,
        RowWriter(folder / "ledger.parquet", LedgerEntry) as ledger,
        ExitStack() as opened,
    ):
        before = opened.enter_context(EarlierRows(earlier.folder)) if earlier.folder is not None else None
        writers = (sections, chunks, ledger)
        for document in _reported(documents, progress):
            first = (sections.count, chunks.count, ledger.count)
            key, own_blocks = blocks[document.doc_id]
            row = earlier.of(key, boilerplate)
            if row is not None and before is not None:
                for writer, table in zip(writers, before.take(row), strict=True):
                    writer.write_table(table)
                totals.kept += 1
            else:
                asked = AskedKeys(boilerplate)
                made = chunk_document(document, settings, tokenizer, limit=limit, boilerplate=asked)
                for writer, values in zip(writers, (made.sections, made.chunks, made.ledger), strict=True):
                    for value in values:
                        writer.write(value)
                row = _kept(key, made, own_blocks, asked)
            row = replace(row, first_section=first[0], first_chunk=first[1], first_entry=first[2])
            totals.add(row)
            kept.append(row)
    return totals, kept


def _kept(key: str, made: DocumentChunks, blocks: str, boilerplate: AskedKeys) -> KeptDocument:
    asked, found = answers(boilerplate)
    counts = Counter((entry.outcome, entry.rule) for entry in made.ledger)
    return KeptDocument(
        key=key,
        first_section=0,
        sections=len(made.sections),
        first_chunk=0,
        chunks=len(made.chunks),
        first_entry=0,
        entries=len(made.ledger),
        tokens=sum(chunk.tokens for chunk in made.chunks),
        max_tokens=max((chunk.tokens for chunk in made.chunks), default=0),
        rules=json.dumps([[*rule, n] for rule, n in sorted(counts.items())]),
        blocks=blocks,
        asked=asked,
        found=found,
    )


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
