"""A build opened for reading: memory-mapped arrays and a locked DuckDB connection, a cursor per call.

Opening takes milliseconds and loads no DuckDB extension; the first HNSW query does. Which chunks a caller may see is
decided elsewhere, by `rag_pipeline.retrieval.scope`.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from rag_pipeline.errors import CorruptBuild, InvalidSettings
from rag_pipeline.index.dense import Vectors, open_array
from rag_pipeline.index.document_vectors import DocumentVectors
from rag_pipeline.index.duckdb_settings import connect_reader, reader_cursor
from rag_pipeline.index.files import DATABASE, LAYOUT, LAYOUT_COLUMNS, VECTORS
from rag_pipeline.index.manifest import Manifest, check_sizes, read_manifest
from rag_pipeline.index.postings import Postings, open_postings
from rag_pipeline.text.analyzer import Analyzer

# Point look-ups by row: a join of three tables costs more in planning than all of them.
_CHUNKS = """
SELECT row, chunk_id, section_id, doc_id, headers, content, lead, kind FROM chunks WHERE row IN ({places})
"""
_DOCUMENTS = "SELECT row, source, title, locators FROM documents WHERE row IN ({places})"
_TEXTS = "SELECT row, doc_id, text FROM documents WHERE row IN ({places})"
_DOCUMENT_ROWS = "SELECT row FROM documents WHERE list_contains(?, doc_id)"
_SECTIONS = 'SELECT section_id, row, doc_id, start, "end" FROM sections WHERE section_id IN ({places})'
_ALIASES = """
SELECT canonical_id, list(doc_id ORDER BY doc_id) FROM documents WHERE canonical_id IS NOT NULL GROUP BY ALL
"""
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


@dataclass(frozen=True, slots=True)
class SectionRecord:
    section_id: str
    row: int
    doc_id: str
    start: int
    end: int


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
        connection: duckdb.DuckDBPyConnection,
        vectors: Vectors,
        layout: Layout,
        postings: Postings,
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.vectors = vectors
        self.layout = layout
        self.postings = postings
        self.document_vectors = DocumentVectors(vectors)
        self.analyzer = Analyzer(str(manifest.settings["language"]))
        self._connection = connection
        self._hnsw: duckdb.DuckDBPyConnection | None = None
        self._aliases: dict[str, tuple[str, ...]] | None = None
        self._lock = threading.Lock()

    @property
    def chunks(self) -> int:
        return self.manifest.chunks

    @property
    def dimension(self) -> int:
        return int(self.manifest.embedder["dimension"])

    @property
    def has_hnsw(self) -> bool:
        return bool(self.manifest.settings["hnsw"])

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """One for each call: a connection shared by threads returns other threads' rows."""
        with self._lock:
            return reader_cursor(self._connection)

    def fetch(self, rows: Sequence[int]) -> list[ChunkRecord]:
        """Records of the chunks, in the order of `rows`. The rows must have passed a scope."""
        if not rows:
            return []
        with self.cursor() as cursor:
            chunks = _by_row(cursor, _CHUNKS, rows)
            documents = _by_row(cursor, _DOCUMENTS, sorted({int(self.layout.document[row]) for row in rows}))
        try:
            return [self._record(row, chunks[row], documents[int(self.layout.document[row])]) for row in rows]
        except KeyError as error:
            raise CorruptBuild(
                f"{self.folder}: the arrays name row {error} that the tables do not have; "
                "run `rag-pipeline release verify`, then roll back or re-index"
            ) from error

    def section_texts(self, rows: Sequence[int]) -> list[str]:
        """Source text of the section around each chunk, in the order of `rows`. The rows must have passed a scope."""
        if not rows:
            return []
        documents = [int(self.layout.document[row]) for row in rows]
        with self.cursor() as cursor:
            texts = {row: text for row, (_, text) in _by_row(cursor, _TEXTS, sorted(set(documents))).items()}
        starts, ends = self.layout.section_start, self.layout.section_end
        return [texts[document][starts[row] : ends[row]] for row, document in zip(rows, documents, strict=True)]

    def sections(self, section_ids: Sequence[str]) -> list[SectionRecord]:
        """Those that exist, in no order."""
        if not section_ids:
            return []
        sql = _SECTIONS.format(places=", ".join("?" * len(section_ids)))
        with self.cursor() as cursor:
            return [SectionRecord(*fields) for fields in cursor.execute(sql, list(section_ids)).fetchall()]

    def document_texts(self, doc_ids: Sequence[str]) -> dict[str, str]:
        """Whole texts, of those that exist. The documents must have passed a scope."""
        if not doc_ids:
            return {}
        with self.cursor() as cursor:
            rows = [row for (row,) in cursor.execute(_DOCUMENT_ROWS, [list(doc_ids)]).fetchall()]
            return dict(_by_row(cursor, _TEXTS, rows).values()) if rows else {}

    def aliases(self, doc_id: str) -> tuple[str, ...]:
        """The documents with the same text and access list that this one stands for, sorted."""
        with self._lock:
            if self._aliases is None:
                self._aliases = {doc: tuple(others) for doc, others in self._connection.execute(_ALIASES).fetchall()}
        return self._aliases.get(doc_id, ())

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

    def _record(self, row: int, chunk: tuple[Any, ...], document: tuple[Any, ...]) -> ChunkRecord:
        chunk_id, section_id, doc_id, headers, content, lead, kind = chunk
        source, title, locators = document
        return ChunkRecord(
            row=row,
            chunk_id=chunk_id,
            section_id=section_id,
            doc_id=doc_id,
            source=source,
            title=title,
            headers=tuple((int(level[1:]), heading) for level, heading in json.loads(headers).items()),
            content=content,
            lead=lead,
            start=int(self.layout.start[row]),
            end=int(self.layout.end[row]),
            section_start=int(self.layout.section_start[row]),
            section_end=int(self.layout.section_end[row]),
            kind=kind,
            locators=tuple((offset, label) for offset, label in json.loads(locators)),
        )

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
        vectors = open_array(folder / VECTORS)
        columns = open_array(folder / LAYOUT)
        postings = open_postings(folder, chunks=chunks)
        connection = connect_reader(folder / DATABASE)
        info = dict(connection.execute("SELECT key, value FROM index_info").fetchall())
    except (OSError, ValueError, duckdb.Error) as error:
        raise CorruptBuild(f"{folder}: not readable ({error}); roll back or re-index") from error
    shapes = {
        VECTORS: (vectors.shape, (chunks, dimension)),
        LAYOUT: (columns.shape, (chunks, len(LAYOUT_COLUMNS))),
        "postings/rows.npy": (postings.rows.shape, (manifest.counts["postings"],)),
        "postings/indptr.npy": (postings.indptr.shape, (manifest.counts["terms"] + 1,)),
        "index.duckdb build key": (info.get("build_key"), manifest.build_key),
    }
    for name, (found, expected) in shapes.items():
        if found != expected:
            connection.close()
            raise CorruptBuild(f"{folder}: {name} is {found}, the manifest says {expected}; roll back or re-index")
    layout = Layout(*columns.T)
    return Index(folder, manifest, connection=connection, vectors=vectors, layout=layout, postings=postings)


def _by_row(cursor: duckdb.DuckDBPyConnection, sql: str, rows: Sequence[int]) -> dict[int, tuple[Any, ...]]:
    # Numbers of our own, written out: binding any value makes DuckDB import pandas where it is installed, for 0.7 s.
    found = cursor.execute(sql.format(places=", ".join(str(int(row)) for row in rows))).fetchall()
    return {row: tuple(fields) for row, *fields in found}
