"""Taking a document's sections and chunks over from the chunking before: what went in is equal, so what comes out is.

Lives here: what is remembered beside the latest chunking, and finding it again. A document's key covers all of it that
a chunker reads; settings, tokenizer and code are bound once for the file. Boilerplate is the one thing a chunking knows
of other documents: the keys it was asked for are kept, and a document whose answers would differ is chunked again.
What was stored is compared with its checksums before it is used.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from rag_pipeline.chunking.boilerplate import AskedKeys
from rag_pipeline.chunking.chunk import CHUNKER_VERSION
from rag_pipeline.durable import temporary_name
from rag_pipeline.file_identity import content_hash
from rag_pipeline.kept import Binding, recall, remember
from rag_pipeline.made_by import made_by
from rag_pipeline.parquet import RowSlices, read_rows, write_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Document
from rag_pipeline.settings.build import ChunkingSettings
from rag_pipeline.text.tokenizer import Tokenizer

PACKAGES = ("chunking", "sources/registry", "text", "parquet", "schema")
LIBRARIES = (
    "docutils",
    "langchain-text-splitters",
    "markdown-it-py",
    "mdit-py-plugins",
    "pyarrow",
    "regex",
    "tokenizers",
    "tree-sitter",
    "tree-sitter-bash",
    "tree-sitter-javascript",
    "tree-sitter-python",
    "tree-sitter-sql",
    "tree-sitter-typescript",
    "tree-sitter-yaml",
)
BY = made_by(PACKAGES, LIBRARIES)
"""Taken when this is imported: a long process runs that code, whatever its files become."""
KEPT = "chunked"
FILES = ("sections.parquet", "chunks.parquet", "ledger.parquet")
KEY_DIGITS = 24
"""Of `boilerplate.block_key`."""


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """Where one document's rows lie in the three files, and what the totals need of them."""

    key: str
    first_section: int
    sections: int
    first_chunk: int
    chunks: int
    first_entry: int
    entries: int
    tokens: int
    max_tokens: int
    rules: str
    """Its ledger entries by outcome and rule, as JSON: [["filtered", "too_short", 2], ...]."""
    blocks: str
    """Keys of its blocks, for counting what repeats in the corpus; joined, as are the next two."""
    asked: str
    """Keys that were looked up while it was chunked."""
    found: str
    """Those of them that were boilerplate."""


@dataclass(frozen=True, slots=True)
class EarlierChunks:
    folder: Path | None = None
    """Of the chunking before; None where nothing can be taken over."""
    known: Mapping[str, KeptDocument] = field(default_factory=dict)
    """By document key."""
    problems: tuple[str, ...] = ()
    damaged: Path | None = None
    """A chunking whose files are not what they were."""

    def of(self, key: str, boilerplate: frozenset[str]) -> KeptDocument | None:
        """What is known of a document, if this boilerplate makes no difference to it."""
        row = self.known.get(key)
        if row is None or boilerplate.intersection(keys_in(row.asked)) != set(keys_in(row.found)):
            return None
        return row


class EarlierRows:
    """The rows of a chunking's three files. A context manager."""

    def __init__(self, folder: Path) -> None:
        self._files = [RowSlices(folder / name) for name in FILES]

    def __enter__(self) -> "EarlierRows":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def take(self, row: KeptDocument) -> tuple[pa.Table, pa.Table, pa.Table]:
        sections, chunks, entries = self._files
        return (
            sections.take(row.first_section, row.sections),
            chunks.take(row.first_chunk, row.chunks),
            entries.take(row.first_entry, row.entries),
        )


def chunked_by(settings: ChunkingSettings, tokenizer: Tokenizer, *, limit: int) -> Binding:
    """What every document's chunks depend on besides the document and the corpus around it."""
    return {
        "settings": settings.model_dump(mode="json"),
        "tokenizer": tokenizer.fingerprint,
        "limit": limit,
        "chunker_version": CHUNKER_VERSION,
        "by": BY,
    }


def document_key(document: Document) -> str:
    """Covers every field that a chunker reads."""
    read = [document.doc_id, document.format, document.title, document.body_start, document.description, document.text]
    return hashlib.sha256(json.dumps(read, ensure_ascii=True).encode()).hexdigest()


def read_earlier(paths: CollectionPaths, binding: Binding) -> EarlierChunks:
    """What the last chunking of this binding left, its checksums compared."""
    kept = recall(paths.kept(KEPT), binding)
    if kept is None:
        return EarlierChunks()
    folder, index = paths.chunking(kept.value["chunking"]), _index(paths)
    if not folder.is_dir() or not index.is_file():
        return EarlierChunks()
    expected: dict[str, str] = kept.value["files"]
    stored = {index: kept.value["index"], **{folder / name: expected[name] for name in FILES}}
    damaged = [file for file, digest in stored.items() if not file.is_file() or content_hash(file) != digest]
    if damaged:
        told = ", ".join(file.name for file in damaged)
        problem = f"{told} of chunking {folder.name} changed since; every document is chunked again"
        return EarlierChunks(problems=(problem,), damaged=folder if damaged != [index] else None)
    rows: Iterator[KeptDocument] = read_rows(index, KeptDocument)
    return EarlierChunks(folder, {row.key: row for row in rows})


def keep(paths: CollectionPaths, folder: Path, rows: Iterable[KeptDocument], binding: Binding) -> None:
    """Remember a published chunking in place of the one before. The record comes last."""
    index = _index(paths)
    partial = temporary_name(index)
    try:
        write_rows(partial, KeptDocument, rows)
        partial.replace(index)
    finally:
        partial.unlink(missing_ok=True)
    files = {name: content_hash(folder / name) for name in FILES}
    remember(paths.kept(KEPT), binding, {"chunking": folder.name, "index": content_hash(index), "files": files})


def joined(keys: Iterable[str]) -> str:
    return "".join(sorted(keys))


def keys_in(text: str) -> list[str]:
    return [text[at : at + KEY_DIGITS] for at in range(0, len(text), KEY_DIGITS)]


def answers(boilerplate: AskedKeys) -> tuple[str, str]:
    """`asked` and `found` of a document that was chunked with it."""
    return joined(boilerplate.asked), joined(boilerplate.intersection(boilerplate.asked))


def _index(paths: CollectionPaths) -> Path:
    return paths.staging / "chunked.parquet"
