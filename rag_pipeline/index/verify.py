"""Whether a build is what its manifest says, and can be searched. Reads only.

Each check returns what it found wrong; a check whose file can't even be read says so as a problem of that file.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.index.dense import BATCH, unsearchable
from rag_pipeline.index.duckdb_settings import connect_reader
from rag_pipeline.index.files import (
    DATABASE,
    LAYOUT,
    LAYOUT_COLUMNS,
    LISTS,
    MANIFEST,
    POSTINGS,
    RECORDS,
    VECTORS,
    WRITE_AHEAD_LOG,
)
from rag_pipeline.index.indexed_text import indexed_text
from rag_pipeline.index.manifest import Manifest, build_files, file_hash, read_manifest
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.index.postings import term_hashes
from rag_pipeline.index.schema_sql import COUNT_LEXICAL, COUNT_RESTRICTED, SELECT_LAYOUT

SAMPLE = 64
"""Chunks whose sidecars are compared with the tables one by one."""

TABLES = ("documents", "sections", "chunks", "chunk_tokens", "ledger", "index_info")


@dataclass(frozen=True, slots=True)
class Problem:
    file: str
    message: str


def verify_build(folder: Path, *, deep: bool = True) -> tuple[Problem, ...]:
    """Everything that is wrong with the build; () where it is sound.

    Shallow: manifest, sizes, shapes. Deep: also the checksum and a full read of every file, and that counts, ledger,
    references and sidecars agree. Raises IncompatibleBuild for a build of another format.
    """
    try:
        manifest = read_manifest(folder)
    except CorruptBuild as error:
        return (Problem(MANIFEST, str(error)),)
    problems = tuple(_files(folder, manifest, deep=deep))
    if problems:
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


def _files(folder: Path, manifest: Manifest, *, deep: bool) -> Iterator[Problem]:
    present = set(build_files(folder))
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
        elif deep and file_hash(folder / name) != entry.sha256:
            yield Problem(name, "its checksum differs from the manifest's: it was changed or damaged")


def _contents(index: Index) -> Iterator[Problem]:
    checks: tuple[tuple[str, Callable[[Index, duckdb.DuckDBPyConnection], Iterator[Problem]]], ...] = (
        (DATABASE, _scan),
        (DATABASE, _counts),
        (DATABASE, _references),
        ("ledger.parquet", _ledger),
        (VECTORS, _vectors),
        (LAYOUT, _layout),
        (POSTINGS, _postings),
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
        "chunks that differ from their span of the document": (
            "SELECT count(*) FROM chunks c JOIN documents d USING (doc_id)"
            ' WHERE c.content <> substring(d.text, c.start + 1, c."end" - c.start)'
        ),
    }
    for what, sql in orphans.items():
        if found := _number(connection, sql):
            yield Problem(DATABASE, f"{found} {what}")


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
    for first in range(0, len(index.vectors), BATCH):
        bad = unsearchable(index.vectors.data[first : first + BATCH])
        if bad.any():
            yield Problem(
                VECTORS, f"{int(bad.sum())} vectors are NaN, zero or not of unit length from position {first}"
            )
    lists = index.vectors.lists
    if lists is not None and not (
        np.array_equal(lists.rows[lists.positions], np.arange(index.chunks)) and int(lists.indptr[-1]) == index.chunks
    ):
        yield Problem(LISTS, "the lists don't hold every row once")
        return
    for row in _sample(index):
        (stored,) = connection.execute("SELECT embedding FROM chunks WHERE row = ?", [row]).fetchall()[0]
        if not np.array_equal(np.asarray(stored, np.float32), index.vectors[row]):
            yield Problem(VECTORS, f"row {row} differs from the table")


def _layout(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    table = connection.execute(SELECT_LAYOUT).fetchnumpy()
    for name in LAYOUT_COLUMNS:
        if not np.array_equal(np.asarray(table[name]), getattr(index.layout, name)):
            yield Problem(LAYOUT, f"its {name} column differs from the tables")


def _postings(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Problem]:
    """The sample's token text is what the analyzer makes of it today, and its postings have its terms."""
    postings = index.postings
    if len(postings.rows) and not 0 <= postings.rows.min() <= postings.rows.max() < index.chunks:
        yield Problem(POSTINGS, "rows outside the chunks")
        return
    if not np.all(postings.term_hash[1:] > postings.term_hash[:-1]) or not np.all(np.isfinite(postings.weights)):
        yield Problem(POSTINGS, "terms are not sorted, or a weight is not finite")
        return
    for row in _sample(index):
        sql = "SELECT token_text, search_text, content FROM chunk_tokens JOIN chunks USING (row) WHERE row = ?"
        token_text, search_text, content = connection.execute(sql, [row]).fetchall()[0]
        tokens = token_text.split()
        if token_text != index.analyzer.token_text(indexed_text(search_text, content)):
            yield Problem(DATABASE, f"the token text of row {row} is not what the analyzer makes of it")
        numbers = postings.term_numbers(tokens)
        if len(numbers) < len(np.unique(term_hashes(list(dict.fromkeys(tokens))))):
            yield Problem(POSTINGS, f"terms of row {row} are missing")
            continue
        for number in numbers:
            held = postings.rows[int(postings.indptr[number]) : int(postings.indptr[number + 1])]
            at = int(np.searchsorted(held, row))
            if at == len(held) or held[at] != row:
                yield Problem(POSTINGS, f"row {row} is missing from one of its terms")
                break


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
    for row in _sample(index):
        sql = (
            "SELECT chunk_id, section_id, d.row, doc_id, text FROM chunks c JOIN documents d USING (doc_id)"
            " WHERE c.row = ?"
        )
        *ids, document, doc_id, text = connection.execute(sql, [row]).fetchall()[0]
        chunk, shown = index.records.chunk(row), index.records.document(document)
        if [chunk.chunk_id, chunk.section_id, shown.doc_id] != [*ids, doc_id] or index.records.text(document) != text:
            yield Problem(RECORDS, f"the record of row {row} differs from the table")


def _sample(index: Index) -> list[int]:
    """Evenly spread rows, first and last included."""
    if not index.chunks:
        return []
    return sorted({int(row) for row in np.linspace(0, index.chunks - 1, min(SAMPLE, index.chunks))})


def _number(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(connection.execute(sql).fetchall()[0][0])
