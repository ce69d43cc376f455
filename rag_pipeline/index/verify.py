"""Whether a build is what its manifest says, and can be searched. Reads only.

Each check returns what it found wrong; a check whose file can't even be read says so as a problem of that file.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.index.duckdb_settings import connect_reader
from rag_pipeline.index.files import (
    DATABASE,
    LAYOUT,
    LAYOUT_COLUMNS,
    MANIFEST,
    POSTINGS,
    RECORDS,
    VECTORS,
    WRITE_AHEAD_LOG,
)
from rag_pipeline.index.manifest import Manifest, build_files, file_hashes, read_manifest
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.index.schema_sql import COUNT_LEXICAL, COUNT_RESTRICTED, SELECT_LAYOUT, SELECT_SPANS
from rag_pipeline.index.verify_lexical import lexical_faults
from rag_pipeline.index.verify_vectors import vector_faults

SAMPLE = 64
"""Chunks whose sidecars are compared with the tables one by one."""

BATCH = 100
FTS_TABLES = ("terms", "dict", "docs", "stats")
TABLES = (
    *("documents", "sections", "chunks", "chunk_tokens", "ledger", "index_info"),
    *(f"fts_main_chunk_tokens.{name}" for name in FTS_TABLES),
)


@dataclass(frozen=True, slots=True)
class Problem:
    file: str
    message: str


def verify_build(folder: Path, *, deep: bool = True) -> tuple[Problem, ...]:
    """Everything that is wrong with the build; () where it is sound.

    Shallow: manifest, sizes, shapes. Deep: also the checksum and a full read of every file, and that counts, ledger,
    references and sidecars agree. Raises IncompatibleBuild for a build of another format.
    """
    if problems := file_problems(folder, deep=deep):
        return problems  # what was changed can't be trusted to say anything about the rest
    try:
        index = open_build(folder)
        index.cursor().close()  # opens the database, which reading itself does only where it needs SQL
    except CorruptBuild as error:
        return (Problem(DATABASE, str(error)),)
    try:
        return tuple(_contents(index)) if deep else ()
    finally:
        index.close()


def file_problems(folder: Path, *, deep: bool = True) -> tuple[Problem, ...]:
    """What is wrong with single files: missing, unknown, of another size or, deep, of another checksum."""
    try:
        manifest = read_manifest(folder)
    except CorruptBuild as error:
        return (Problem(MANIFEST, str(error)),)
    return tuple(_files(folder, manifest, deep=deep))


def _files(folder: Path, manifest: Manifest, *, deep: bool) -> Iterator[Problem]:
    present = set(build_files(folder))
    hashes = file_hashes(folder) if deep else {}
    for name in sorted(present - manifest.files.keys()):
        what = "a finished build has no write-ahead log" if name == WRITE_AHEAD_LOG else "the manifest does not know it"
        yield Problem(name, f"{what}; remove it, or re-index")
    for name, entry in manifest.files.items():
        if name not in present:
            yield Problem(name, "is missing")
            continue
        size = (folder / name).stat().st_size
        if size != entry.size:
            yield Problem(name, f"has {size} bytes, the manifest says {entry.size}")
        elif deep and hashes[name] != entry.sha256:
            yield Problem(name, "its checksum differs from the manifest's: it was changed or damaged")


def _contents(index: Index) -> Iterator[Problem]:
    checks: tuple[tuple[str, Callable[[Index, duckdb.DuckDBPyConnection], Iterator[Problem]]], ...] = (
        (DATABASE, _scan),
        (DATABASE, _counts),
        (DATABASE, _references),
        ("ledger.parquet", _ledger),
        (VECTORS, _vectors),
        (LAYOUT, _layout),
        (POSTINGS, _lexical),
        (RECORDS, _records),
    )
    connection = connect_reader(index.folder / DATABASE, extensions=("vss", "fts"))
    try:
        for file, check in checks:
            try:
                yield from check(index, connection)
            except (duckdb.Error, OSError, ValueError, IndexError) as error:
                yield Problem(file, f"can't be read: {error}")
    finally:
        connection.close()


def _scan(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    """Read every value: a file that was cut by a full disk can open and still be damaged."""
    for table in TABLES:
        connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {table}").fetchall()  # noqa: S608
    yield from ()


def _counts(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    counts = index.manifest.counts
    for name in ("documents", "sections", "chunks", "ledger"):
        found = _number(connection, f"SELECT count(*) FROM {name}")  # noqa: S608
        if found != counts[name]:
            yield Problem(DATABASE, f"{found} {name}, the manifest says {counts[name]}")
    lexical = _number(connection, COUNT_LEXICAL)
    if not counts["chunks"] == len(index.vectors) == lexical:
        yield Problem(DATABASE, f"{counts['chunks']} chunks, {len(index.vectors)} vectors, {lexical} lexical rows")
    for name, identity in (("documents", "doc_id"), ("sections", "section_id"), ("chunks", "chunk_id")):
        distinct = _number(connection, f"SELECT count(DISTINCT {identity}) FROM {name}")  # noqa: S608
        if distinct != counts[name]:
            yield Problem(DATABASE, f"only {distinct} of {counts[name]} {name} have an id of their own")
    rows = _number(
        connection, "SELECT count(*) FROM (SELECT row, row_number() OVER () - 1 AS n FROM chunks) WHERE row <> n"
    )
    if rows:
        yield Problem(DATABASE, f"{rows} chunks are not stored at their row")


def _references(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    orphans = {
        "chunks without their section": "SELECT count(*) FROM chunks ANTI JOIN sections USING (section_id, doc_id)",
        "chunks without their document": "SELECT count(*) FROM chunks ANTI JOIN documents USING (doc_id)",
        "sections without their document": "SELECT count(*) FROM sections ANTI JOIN documents USING (doc_id)",
        "duplicates without the document they name, or with another access list": (
            "SELECT count(*) FROM documents d LEFT JOIN documents c ON d.canonical_id = c.doc_id"
            " WHERE d.canonical_id IS NOT NULL AND (c.doc_id IS NULL OR d.access IS DISTINCT FROM c.access)"
        ),
    }
    for what, sql in orphans.items():
        if found := _number(connection, sql):
            yield Problem(DATABASE, f"{found} {what}")
    if found := _differing(connection):
        yield Problem(DATABASE, f"{found} chunks that differ from their span of the document")


def _differing(connection: duckdb.DuckDBPyConnection) -> int:
    """Chunks that are not the text of their document at their offsets, in code points as Python counts them: SQL's
    `substring` counts from the document's beginning for every chunk, which takes ten times as long."""
    found = connection.execute(SELECT_SPANS)
    differing = 0
    while documents := found.fetchmany(BATCH):
        for text, *spans in documents:
            differing += sum(text[start:end] != content for start, end, content in zip(*spans, strict=True))
    return differing


def _ledger(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    """Every input has one outcome, and the documents are what was indexed."""
    wrong = {
        "inputs have more than one outcome": (
            "SELECT count(*) FROM (SELECT path FROM input_outcomes GROUP BY path HAVING count(*) > 1)"
        ),
        "documents have no outcome": "SELECT count(*) FROM documents d ANTI JOIN input_outcomes l ON l.path = d.doc_id",
        "inputs are said to be indexed and have no document": (
            "SELECT count(*) FROM input_outcomes l ANTI JOIN documents d ON l.path = d.doc_id WHERE outcome = 'indexed'"
        ),
    }
    for what, sql in wrong.items():
        if found := _number(connection, sql):
            yield Problem("ledger.parquet", f"{found} {what}")
    refused = _number(connection, "SELECT count(*) FROM ledger WHERE stage = 'embed' AND outcome <> 'notice'")
    if refused != index.manifest.counts["unembedded"]:
        left_out = index.manifest.counts["unembedded"]
        yield Problem("ledger.parquet", f"{left_out} chunks have no vector, {refused} are reported")


def _vectors(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    for file, message in vector_faults(index, connection, sample(index.chunks)):
        yield Problem(file, message)


def _layout(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    table = connection.execute(SELECT_LAYOUT).fetchnumpy()
    for name in LAYOUT_COLUMNS:
        if not np.array_equal(np.asarray(table[name]), getattr(index.layout, name)):
            yield Problem(LAYOUT, f"its {name} column differs from the tables")


def _lexical(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    for file, message in lexical_faults(index, connection, sample(index.chunks)):
        yield Problem(file, message)


def _records(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    """Who may see what is decided from the tables and the manifest, what is shown comes from here."""
    restricted = _number(connection, COUNT_RESTRICTED)
    if restricted != index.manifest.counts["restricted"]:
        yield Problem(DATABASE, f"{restricted} documents have an access list, the manifest says otherwise")
    texts = connection.execute("SELECT sum(strlen(text)) FROM documents").fetchall()[0][0] or 0
    if texts != int(index.records.texts.offsets[-1]):
        yield Problem(RECORDS, "the texts are not those of the tables")
    for store in (index.records.chunks, index.records.documents, index.records.texts):
        if (np.diff(store.offsets) < 0).any():
            yield Problem(RECORDS, "the offsets are not in order")
            return
    ids = [str(i) for (i,) in connection.execute("SELECT section_id FROM sections ORDER BY row").fetchall()]
    if index.records.section_rows(ids) != list(range(len(ids))):
        yield Problem(RECORDS, "sections are not found at their row")
    for row in sample(index.chunks):
        sql = (
            "SELECT chunk_id, section_id, d.row, doc_id, text FROM chunks c JOIN documents d USING (doc_id)"
            " WHERE c.row = ?"
        )
        *ids, document, doc_id, text = connection.execute(sql, [row]).fetchall()[0]
        chunk, shown = index.records.chunk(row), index.records.document(document)
        if [chunk.chunk_id, chunk.section_id, shown.doc_id] != [*ids, doc_id] or index.records.text(document) != text:
            yield Problem(RECORDS, f"the record of row {row} differs from the table")


def sample(chunks: int) -> list[int]:
    """Evenly spread rows, first and last included."""
    if not chunks:
        return []
    return sorted({int(row) for row in np.linspace(0, chunks - 1, min(SAMPLE, chunks))})


def _number(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(connection.execute(sql).fetchall()[0][0])
