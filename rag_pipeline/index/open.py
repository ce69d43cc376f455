"""A build opened for reading: memory-mapped arrays and records, and a locked DuckDB connection, a cursor per call.

Opening takes milliseconds: DuckDB itself is opened by the first call that needs SQL (a filter, an access list), its
extensions by the first HNSW query. Which chunks a caller may see is decided elsewhere, by
`rag_pipeline.retrieval.scope`.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from rag_pipeline.advice import advised, owner
from rag_pipeline.errors import CorruptBuild, InvalidSettings
from rag_pipeline.index.dense import open_array
from rag_pipeline.index.document_vectors import DocumentVectors
from rag_pipeline.index.duckdb_settings import connect_reader, reader_cursor
from rag_pipeline.index.files import DATABASE, LAYOUT, LAYOUT_COLUMNS, VECTORS
from rag_pipeline.index.groups import Groups, group_rows
from rag_pipeline.index.lists import open_lists
from rag_pipeline.index.manifest import Manifest, check_sizes, read_manifest
from rag_pipeline.index.postings import Postings, open_postings
from rag_pipeline.index.records import DocumentFields, Records, open_records
from rag_pipeline.index.vectors import Vectors
from rag_pipeline.text.analyzer import Analyzer

_TEXTS = "SELECT doc_id, text FROM documents WHERE list_contains(?, doc_id)"
_NEAREST = "SELECT row FROM chunks ORDER BY array_cosine_distance(embedding, ?::FLOAT[{dimension}]) LIMIT {limit}"


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """What results show of one chunk."""

    row: int
    chunk_id: str
    section_id: str
    doc_id: str
    source: str
    title: str
    headers: tuple[tuple[int, str], ...]
    content: str
    lead: str
    start: int
    end: int
    section_start: int
    section_end: int
    kind: str
    locators: tuple[tuple[int, str], ...]
    also_in: tuple[str, ...]
    """The documents with the same text and access list that this one stands for, sorted."""
    section_content: str
    """Source text of the section around the chunk."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where every chunk lies, (chunks,) int32 each: rows of its document and section, offsets of both spans."""

    document: NDArray[np.int32]
    section: NDArray[np.int32]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    section_start: NDArray[np.int32]
    section_end: NDArray[np.int32]


class Index:
    """Made by `open_build`. Safe to use from several threads; `close` it when no call runs any more."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        *,
        vectors: Vectors,
        layout: Layout,
        postings: Postings,
        records: Records,
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.vectors = vectors
        self.layout = layout
        self.postings = postings
        self.document_vectors = DocumentVectors(vectors)
        self.analyzer = Analyzer(str(manifest.settings["language"]))
        self.records = records
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._hnsw: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()

    @property
    def chunks(self) -> int:
        return self.manifest.chunks

    @property
    def dimension(self) -> int:
        return int(self.manifest.embedder["dimension"])

    @property
    def has_hnsw(self) -> bool:
        return bool(self.manifest.counts["hnsw"])

    @property
    def has_lists(self) -> bool:
        return self.vectors.lists is not None

    def document_spans(self, documents: NDArray[np.integer]) -> NDArray[np.int64]:
        """(documents, 2): the half-open range of each one's rows, which follow each other."""
        starts = self._document_starts
        return np.stack([starts[documents], starts[documents + 1]], axis=1)

    @cached_property
    def _document_starts(self) -> NDArray[np.int64]:
        numbers = np.arange(self.manifest.documents + 1, dtype=np.int32)
        return np.searchsorted(np.ascontiguousarray(self.layout.document), numbers)

    @cached_property
    def _by_section(self) -> Groups:
        return group_rows(self.layout.section, groups=self.manifest.sections)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """One for each call: a connection shared by threads returns other threads' rows. Raises CorruptBuild."""
        with self._lock:
            if self._connection is None:
                self._connection = _connected(self.folder, self.manifest)
            return reader_cursor(self._connection)

    def fetch(self, rows: Sequence[int]) -> list[ChunkRecord]:
        """Records of the chunks, in the order of `rows`. The rows must have passed a scope."""
        texts: dict[int, str] = {}
        documents: dict[int, DocumentFields] = {}
        found = []
        try:
            for row in rows:
                number = int(self.layout.document[row])
                if number not in documents:
                    documents[number], texts[number] = self.records.document(number), self.records.text(number)
                found.append(self._record(row, documents[number], texts[number]))
        except (IndexError, ValueError) as error:
            raise CorruptBuild(
                f"{self.folder}: the arrays name a record that can't be read ({error}); "
                f"run {advised(owner(self.folder), 'release verify')}, then roll back or re-index"
            ) from error
        return found

    def section_texts(self, section_ids: Sequence[str], *, visible: NDArray[np.bool_] | None) -> dict[str, str]:
        """Source text of each section that has a chunk among the `visible` ones, (chunks,), None for all of them."""
        texts: dict[str, str] = {}
        whole: dict[int, str] = {}  # a document's text is decoded once, however many of its sections are asked for
        for section_id, section in zip(section_ids, self.records.section_rows(section_ids), strict=True):
            rows = self._by_section.of(int(section))
            rows = rows if visible is None else rows[visible[rows]]
            if len(rows) and self.records.chunk(int(rows[0])).section_id == section_id:
                document = int(self.layout.document[rows[0]])
                if document not in whole:
                    whole[document] = self.records.text(document)
                texts[section_id] = self._section_text(int(rows[0]), whole[document])
        return texts

    def document_texts(self, doc_ids: Sequence[str]) -> dict[str, str]:
        """Whole texts, of those that exist. The documents must have passed a scope."""
        if not doc_ids:
            return {}
        with self.cursor() as cursor:
            return dict(cursor.execute(_TEXTS, [list(doc_ids)]).fetchall())

    def nearest(self, vector: NDArray[np.float32], *, limit: int) -> list[int]:
        """Rows of about the `limit` nearest chunks by HNSW, nearest first. Raises InvalidSettings without HNSW."""
        with self._hnsw_cursor() as cursor:
            return [int(row) for (row,) in cursor.execute(self._nearest_sql(limit), [vector.tolist()]).fetchall()]

    def nearest_plan(self, vector: NDArray[np.float32], *, limit: int) -> str:
        """DuckDB's plan of `nearest`; names HNSW_INDEX_SCAN where the index is used."""
        with self._hnsw_cursor() as cursor:
            sql = "EXPLAIN " + self._nearest_sql(limit)
            return str(cursor.execute(sql, [vector.tolist()]).fetchall()[0][1])

    def close(self) -> None:
        with self._lock:
            for connection in (self._connection, self._hnsw):
                if connection is not None:
                    connection.close()

    def _record(self, row: int, document: DocumentFields, text: str) -> ChunkRecord:
        chunk = self.records.chunk(row)
        start, end = int(self.layout.start[row]), int(self.layout.end[row])
        return ChunkRecord(
            row=row,
            chunk_id=chunk.chunk_id,
            section_id=chunk.section_id,
            doc_id=document.doc_id,
            source=document.source,
            title=document.title,
            headers=chunk.headers,
            content=text[start:end],
            lead=chunk.lead,
            start=start,
            end=end,
            section_start=int(self.layout.section_start[row]),
            section_end=int(self.layout.section_end[row]),
            kind=chunk.kind,
            locators=document.locators,
            also_in=document.also_in,
            section_content=self._section_text(row, text),
        )

    def _section_text(self, row: int, text: str) -> str:
        return text[int(self.layout.section_start[row]) : int(self.layout.section_end[row])]

    def _nearest_sql(self, limit: int) -> str:
        # Any WHERE, join, second sort key or second distance makes the planner drop the index silently.
        return _NEAREST.format(dimension=self.dimension, limit=int(limit))

    def _hnsw_cursor(self) -> duckdb.DuckDBPyConnection:
        if not self.has_hnsw:
            raise InvalidSettings(
                f"build {self.manifest.build_key} has no HNSW index;"
                " search exactly, or set index.hnsw = true and re-index"
            )
        with self._lock:
            if self._hnsw is None:
                ef_search = int(str(self.manifest.settings["hnsw_ef_search"]))
                self._hnsw = connect_reader(self.folder / DATABASE, extensions=("vss",), ef_search=ef_search)
            return reader_cursor(self._hnsw)


def open_build(folder: Path) -> Index:
    """Open a finished build read-only.

    Raises CorruptBuild where files are missing or their sizes differ from the manifest, IncompatibleBuild for another
    format. Contents are compared by `verify.verify_build`.
    """
    manifest = read_manifest(folder)
    check_sizes(folder, manifest)
    chunks, dimension = manifest.chunks, int(manifest.embedder["dimension"])
    try:
        vectors = Vectors(open_array(folder / VECTORS), open_lists(folder), manifest.counts["probes"])
        columns = open_array(folder / LAYOUT)
        postings = open_postings(folder, chunks=chunks)
        records = open_records(folder)
    except (OSError, ValueError) as error:
        raise CorruptBuild(f"{folder}: not readable ({error}); roll back or re-index") from error
    shapes = {
        VECTORS: (vectors.data.shape, (chunks, dimension)),
        "records/texts.npy": (len(records.texts), manifest.documents),
        "records/section_row.npy": (len(records.section_row), manifest.sections),
        "lists/rows.npy": (len(vectors.lists.rows) if vectors.lists else 0, chunks if manifest.counts["lists"] else 0),
        LAYOUT: (columns.shape, (chunks, len(LAYOUT_COLUMNS))),
        "postings/rows.npy": (postings.rows.shape, (manifest.counts["postings"],)),
        "postings/indptr.npy": (postings.indptr.shape, (manifest.counts["terms"] + 1,)),
        "records/chunks.npy": (len(records.chunks), chunks),
        "records/documents.npy": (len(records.documents), manifest.documents),
    }
    for name, (found, expected) in shapes.items():
        if found != expected:
            raise CorruptBuild(f"{folder}: {name} is {found}, the manifest says {expected}; roll back or re-index")
    return Index(folder, manifest, vectors=vectors, layout=Layout(*columns.T), postings=postings, records=records)


def _connected(folder: Path, manifest: Manifest) -> duckdb.DuckDBPyConnection:
    """Raises CorruptBuild where the database can't be read or is another build's."""
    connection = None
    try:
        connection = connect_reader(folder / DATABASE)
        found = connection.execute("SELECT value FROM index_info WHERE key = 'build_key'").fetchall()
    except (OSError, duckdb.Error) as error:
        if connection is not None:
            connection.close()
        raise CorruptBuild(f"{folder}: {DATABASE} is not readable ({error}); roll back or re-index") from error
    if found != [(manifest.build_key,)]:
        connection.close()
        raise CorruptBuild(f"{folder}: {DATABASE} has another build key, {found}; roll back or re-index")
    return connection
