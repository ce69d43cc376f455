"""The documents as a run read them last, as labels are resolved against them before any release is in service."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from rag_pipeline.errors import InvalidSource
from rag_pipeline.evaluation.resolve import Corpus
from rag_pipeline.index.snapshot_of import snapshot_of_chunking
from rag_pipeline.parquet import read_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Document, Section

_DOCUMENT = ["doc_id", "source", "text", "format", "content_hash", "metadata_hash", "title", "canonical_id"]


def latest_snapshot(paths: CollectionPaths) -> str | None:
    """The key of the snapshot that was written last; None where there is none, or gc has taken it."""
    key = _latest(paths, "snapshots")
    return key if key is not None and (paths.snapshot(key) / "documents.parquet").is_file() else None


def snapshot_corpus(paths: CollectionPaths, key: str) -> Corpus:
    """As `stored_corpus`, with the sections of the latest chunking where it is of this snapshot; else every document is
    one section, and a heading is found by its line.

    Raises InvalidSource where the staged files can't be read.
    """
    file = paths.snapshot(key) / "documents.parquet"
    try:
        documents: list[Document] = list(read_rows(file, Document, columns=_DOCUMENT))
        chunking = _chunking_of(paths, key)
        sections: Iterable[Section] = (
            list(read_rows(chunking / "sections.parquet", Section)) if chunking is not None else map(_whole, documents)
        )
    except (OSError, pa.ArrowException) as error:
        raise InvalidSource(f"{file.parent}: not readable ({error}); run `rag-pipeline reindex` again") from error
    return Corpus.of(
        {d.doc_id: d.text for d in documents},
        sections,
        canonical={d.doc_id: d.canonical_id for d in documents if d.canonical_id is not None},
    )


def _chunking_of(paths: CollectionPaths, key: str) -> Path | None:
    chunking = _latest(paths, "chunkings")
    folder = paths.chunking(chunking) if chunking is not None else None
    if folder is None or not (folder / "sections.parquet").is_file():
        return None
    return folder if snapshot_of_chunking(folder) == key else None


def _whole(document: Document) -> Section:
    return Section(document.doc_id, document.doc_id, 0, 0, len(document.text), ((1, document.doc_id),), "prose")


def _latest(paths: CollectionPaths, what: str) -> str | None:
    try:
        return paths.latest(what).read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None
