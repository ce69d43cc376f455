"""The lexical side of a build: token text, BM25 weights and DuckDB's fts tables, from one pass over the texts.

`bm25.py` has the formula; `postings.py` reads what is written here.
A term's number is its place among the sorted hashes, in the postings and in fts alike. The fts extension makes its
schema and `match_bm25` over the empty table, and its tables are filled from the postings: its own way is a chain of
updates that takes ten times as long.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rag_pipeline.arrays import new_array
from rag_pipeline.errors import InvalidSource
from rag_pipeline.index.bm25 import bm25_weights
from rag_pipeline.index.duckdb_settings import registered
from rag_pipeline.index.files import POSTINGS
from rag_pipeline.index.indexed_text import indexed_text
from rag_pipeline.index.postings import term_hashes
from rag_pipeline.index.schema_sql import CREATE_FTS, FILL_FTS_DICT, FILL_FTS_DOCS, FILL_FTS_TERMS, SELECT_INDEXED
from rag_pipeline.index.term_counts import TermCounts
from rag_pipeline.text.analyzer import Analyzer

BATCH = 4096
POSTINGS_BATCH = 1_000_000
TIMES = "times.npy"
OCCURRENCES = pa.schema([("row", pa.int32()), ("termid", pa.int64())])


@dataclass(frozen=True, slots=True)
class Terms:
    """Sorted by hash."""

    names: list[str]
    hashes: NDArray[np.uint64]
    frequencies: NDArray[np.int64]
    """Chunks that have the term."""
    indptr: NDArray[np.int64]
    """(terms + 1,): postings of term i are `indptr[i]:indptr[i + 1]`."""
    number: NDArray[np.int64]
    """Of the term that `TermCounts` calls i."""

    def spans(self) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Runs of about POSTINGS_BATCH postings, whole terms each, with the number of each posting's term."""
        first = 0
        while first < len(self.names):
            enough = np.searchsorted(self.indptr, self.indptr[first] + POSTINGS_BATCH, side="right") - 1
            last = max(first + 1, int(enough))
            numbers = np.repeat(np.arange(first, last), self.frequencies[first:last])
            yield slice(int(self.indptr[first]), int(self.indptr[last])), numbers
            first = last


def index_texts(
    connection: duckdb.DuckDBPyConnection, folder: Path, analyzer: Analyzer, *, k1: float, b: float
) -> tuple[int, int]:
    """Token text of every chunk, `folder/postings` and the fts tables; returns (terms, postings).

    Raises InvalidSource where two terms have one hash.
    """
    (folder / POSTINGS).mkdir()
    connection.execute(CREATE_FTS)
    with TermCounts(folder) as counts:
        _write_token_text(connection, analyzer, counts)
        terms, lengths = _sorted_terms(counts), counts.lengths
        total = int(terms.indptr[-1])
        _save(folder, "term_hash", terms.hashes)
        _save(folder, "indptr", terms.indptr)
        if not total:
            _save(folder, "rows", np.zeros(0, np.int32))
            _save(folder, "weights", np.zeros(0, np.float32))
            _fill_fts(connection, terms, lengths, iter(()))
            return 0, 0
        rows = new_array(folder / POSTINGS / "rows.npy", dtype=np.int32, shape=(total,))
        times = new_array(folder / POSTINGS / TIMES, dtype=np.int32, shape=(total,))
        _place(counts, terms, rows, times)
    weights = new_array(folder / POSTINGS / "weights.npy", dtype=np.float32, shape=(total,))
    average = int(lengths.sum()) / len(lengths)
    for span, numbers in terms.spans():
        weights[span] = bm25_weights(
            tf=times[span],
            df=terms.frequencies[numbers],
            length=lengths[rows[span]],
            chunks=len(lengths),
            average=average,
            k1=k1,
            b=b,
        )
    rows.flush()
    weights.flush()
    _fill_fts(connection, terms, lengths, _occurrences(terms, rows, times))
    (folder / POSTINGS / TIMES).unlink()
    return len(terms.names), total


def _write_token_text(connection: duckdb.DuckDBPyConnection, analyzer: Analyzer, counts: TermCounts) -> None:
    texts = connection.cursor().execute(SELECT_INDEXED)
    connection.begin()
    while records := texts.fetchmany(BATCH):
        tokens = [analyzer.tokens(indexed_text(search_text, content)) for _, search_text, content in records]
        counts.add(tokens)
        rows = pa.array([row for row, _, _ in records], pa.int32())
        batch = pa.table({"row": rows, "token_text": [" ".join(some) for some in tokens]})
        with registered(connection, "batch", batch):
            connection.execute("INSERT INTO chunk_tokens SELECT row, token_text FROM batch")
    connection.commit()


def _sorted_terms(counts: TermCounts) -> Terms:
    names = counts.terms
    hashes = term_hashes(names)
    order = np.argsort(hashes)
    if len(np.unique(hashes)) < len(hashes):
        raise InvalidSource("two search terms have one 64-bit hash; change one of the two documents and build again")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    frequencies = counts.frequencies()[order]
    indptr = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.int64)
    return Terms([names[i] for i in order.tolist()], hashes[order], frequencies, indptr, number)


def _place(counts: TermCounts, terms: Terms, rows: NDArray[np.int32], times: NDArray[np.int32]) -> None:
    """A counting sort: each batch's part of a term's postings goes behind those of the batches before it."""
    free = terms.indptr[:-1].copy()
    for term, row, often in counts.batches():
        begins = np.flatnonzero(np.diff(term, prepend=-1))
        sizes = np.diff(begins, append=len(term))
        numbers = terms.number[term[begins]]
        at = np.repeat(free[numbers] - begins, sizes) + np.arange(len(term))
        rows[at], times[at] = row, often
        free[numbers] += sizes


def _occurrences(terms: Terms, rows: NDArray[np.int32], times: NDArray[np.int32]) -> Iterator[pa.RecordBatch]:
    for span, numbers in terms.spans():
        columns = [pa.array(np.repeat(column, times[span])) for column in (rows[span], numbers)]
        yield pa.record_batch(columns, schema=OCCURRENCES)


def _fill_fts(
    connection: duckdb.DuckDBPyConnection,
    terms: Terms,
    lengths: NDArray[np.int64],
    occurrences: Iterator[pa.RecordBatch],
) -> None:
    numbers = np.arange(len(terms.names))
    for sql, source in (
        (FILL_FTS_TERMS, pa.RecordBatchReader.from_batches(OCCURRENCES, occurrences)),
        (
            FILL_FTS_DICT,
            pa.table({"termid": numbers, "term": pa.array(terms.names, pa.string()), "df": terms.frequencies}),
        ),
        (FILL_FTS_DOCS, pa.table({"row": np.arange(len(lengths)), "length": lengths})),
    ):
        with registered(connection, "source", source):
            connection.execute(sql)


def _save(folder: Path, name: str, array: NDArray[np.generic]) -> None:
    np.save(folder / POSTINGS / f"{name}.npy", array)
