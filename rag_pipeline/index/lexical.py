"""The lexical side of a build: DuckDB's fts over token text, and BM25 weights precomputed from its own tables.

    weight(term, chunk) = ln(1 + (N - df + 0.5) / (df + 0.5)) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean))

which is Lucene's BM25 times (k1 + 1), and `match_bm25` times ln(10): its logarithm is decimal (Robertson & Zaragoza
2009, "The Probabilistic Relevance Framework: BM25 and Beyond"). A query's score is the sum over its distinct terms.
`postings.py` reads what is written here.
"""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rag_pipeline.arrays import new_array
from rag_pipeline.errors import InvalidSource
from rag_pipeline.index.files import POSTINGS
from rag_pipeline.index.indexed_text import indexed_text
from rag_pipeline.index.postings import term_hashes
from rag_pipeline.index.schema_sql import CREATE_FTS, SELECT_POSTINGS, SELECT_STATS, SELECT_TERMS
from rag_pipeline.text.analyzer import Analyzer

BATCH = 4096
POSTINGS_BATCH = 1_000_000


def index_tokens(connection: duckdb.DuckDBPyConnection, analyzer: Analyzer) -> None:
    """Token text of every chunk, then the fts index over it."""
    texts = connection.cursor().execute("SELECT row, search_text, content FROM chunks ORDER BY row")
    while records := texts.fetchmany(BATCH):
        batch = pa.table(
            {
                "row": pa.array([row for row, _, _ in records], pa.int32()),
                "token_text": [
                    analyzer.token_text(indexed_text(search_text, content)) for _, search_text, content in records
                ],
            }
        )
        connection.register("token_batch", batch)
        connection.execute("INSERT INTO chunk_tokens SELECT row, token_text FROM token_batch")
        connection.unregister("token_batch")
    connection.execute(CREATE_FTS)


def write_postings(connection: duckdb.DuckDBPyConnection, folder: Path, *, k1: float, b: float) -> tuple[int, int]:
    """Returns (terms, postings). Raises InvalidSource where two terms have one hash."""
    (folder / POSTINGS).mkdir()
    hashes, frequencies = _term_order(connection)
    indptr = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.int64)
    total = int(indptr[-1])
    _save(folder, "term_hash", hashes)
    _save(folder, "indptr", indptr)
    if not total:
        _save(folder, "rows", np.zeros(0, np.int32))
        _save(folder, "weights", np.zeros(0, np.float32))
        return 0, 0
    chunks, average = connection.execute(SELECT_STATS).fetchall()[0]
    rows = new_array(folder / POSTINGS / "rows.npy", dtype=np.int32, shape=(total,))
    weights = new_array(folder / POSTINGS / "weights.npy", dtype=np.float32, shape=(total,))
    done = 0
    for batch in connection.execute(SELECT_POSTINGS).to_arrow_reader(POSTINGS_BATCH):
        row, tf, length, df = (
            batch.column(name).to_numpy(zero_copy_only=False) for name in ("row", "tf", "length", "df")
        )
        rows[done : done + len(row)] = row
        weights[done : done + len(row)] = bm25_weights(
            tf=tf, df=df, length=length, chunks=chunks, average=average, k1=k1, b=b
        )
        done += len(row)
    rows.flush()
    weights.flush()
    return len(hashes), done


def bm25_weights(
    *,
    tf: NDArray[np.integer],
    df: NDArray[np.integer],
    length: NDArray[np.integer],
    chunks: int,
    average: float,
    k1: float,
    b: float,
) -> NDArray[np.float64]:
    """The formula above, element by element."""
    idf = np.log1p((chunks - df + 0.5) / (df + 0.5))
    return np.asarray(idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average)), np.float64)


def _term_order(connection: duckdb.DuckDBPyConnection) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Sorted hashes and their document frequencies; leaves the temporary table `term_order(termid, number, df)`."""
    records = connection.execute(SELECT_TERMS).fetchall()
    hashes = term_hashes([term for _, term, _ in records])
    if len(np.unique(hashes)) < len(hashes):
        raise InvalidSource("two search terms have one 64-bit hash; change one of the two documents and build again")
    order = np.argsort(hashes)
    termids = np.array([termid for termid, _, _ in records], np.int64)[order]
    frequencies = np.array([df for _, _, df in records], np.int64)[order]
    table = pa.table({"termid": termids, "number": np.arange(len(order)), "df": frequencies})
    connection.register("ordered_terms", table)
    connection.execute("CREATE TEMP TABLE term_order AS SELECT termid, number, df FROM ordered_terms")
    connection.unregister("ordered_terms")
    return hashes[order], frequencies


def _save(folder: Path, name: str, array: NDArray[np.generic]) -> None:
    np.save(folder / POSTINGS / f"{name}.npy", array)
