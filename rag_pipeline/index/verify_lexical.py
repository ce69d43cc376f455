"""Whether token text, postings and fts tables of a build agree with each other; a part of `verify.py`."""

from collections import Counter
from collections.abc import Iterator, Sequence

import duckdb
import numpy as np

from rag_pipeline.index.bm25 import bm25_weights
from rag_pipeline.index.files import DATABASE, POSTINGS
from rag_pipeline.index.indexed_text import indexed_text
from rag_pipeline.index.open import Index
from rag_pipeline.index.postings import term_hashes
from rag_pipeline.index.schema_sql import (
    COUNT_FTS_TERMS,
    SELECT_FTS_DICT,
    SELECT_FTS_OF_ROWS,
    SELECT_FTS_STATS,
    SELECT_TOKENS_OF_ROW,
)

Fault = tuple[str, str]
"""(file, what is wrong with it)."""


def lexical_faults(index: Index, connection: duckdb.DuckDBPyConnection, rows: Sequence[int]) -> Iterator[Fault]:
    """The arrays are in order, all terms and counts are those of fts, and `rows` have what the analyzer makes of them
    today, in fts and with these weights in the postings."""
    faults = [*_order(index), *_dictionary(index, connection)]
    yield from faults
    if any(file == POSTINGS for file, _ in faults):
        return
    held: dict[int, dict[str, int]] = {row: {} for row in rows}
    for row, term, times in connection.execute(SELECT_FTS_OF_ROWS, [list(rows)]).fetchall():
        held[row][term] = times
    for row in rows:
        yield from _row(index, connection, row, held[row])


def _order(index: Index) -> Iterator[Fault]:
    postings = index.postings
    rows, begins = postings.rows, postings.indptr[1:-1]
    if len(rows) and not 0 <= rows.min() <= rows.max() < index.chunks:
        yield POSTINGS, "rows outside the chunks"
    if not np.all(postings.term_hash[1:] > postings.term_hash[:-1]) or not np.all(np.isfinite(postings.weights)):
        yield POSTINGS, "terms are not sorted, or a weight is not finite"
    if np.any(np.diff(postings.indptr) < 1) or int(postings.indptr[-1]) != len(rows):
        yield POSTINGS, "the terms' parts don't cover the postings"
        return
    ascending = rows[1:] > rows[:-1]
    ascending[begins - 1] = True
    if not ascending.all():
        yield POSTINGS, "the rows of a term are not in order"


def _dictionary(index: Index, connection: duckdb.DuckDBPyConnection) -> Iterator[Fault]:
    records = connection.execute(SELECT_FTS_DICT).fetchall()
    hashes = term_hashes([term for term, _ in records])
    order = np.argsort(hashes)
    frequencies = np.array([df for _, df in records], np.int64)
    if not np.array_equal(hashes[order], index.postings.term_hash):
        yield POSTINGS, "terms are missing, or others than those of fts"
    elif not np.array_equal(frequencies[order], np.diff(index.postings.indptr)):
        yield POSTINGS, "a term is in fewer or more chunks than fts says"
    occurrences, tokens = connection.execute(COUNT_FTS_TERMS).fetchall()[0]
    if occurrences != tokens:
        yield DATABASE, f"fts has {occurrences} occurrences of terms for {tokens} tokens"


def _row(index: Index, connection: duckdb.DuckDBPyConnection, row: int, in_fts: dict[str, int]) -> Iterator[Fault]:
    token_text, search_text, content = connection.execute(SELECT_TOKENS_OF_ROW, [row]).fetchall()[0]
    if token_text != index.analyzer.token_text(indexed_text(search_text, content)):
        yield DATABASE, f"the token text of row {row} is not what the analyzer makes of it"
        return
    counted = Counter(token_text.split())
    if in_fts != counted:
        yield DATABASE, f"fts has other terms for row {row} than its token text"
    postings, settings = index.postings, index.manifest.settings
    numbers = np.searchsorted(postings.term_hash, term_hashes(list(counted)))
    spans = [postings.rows[int(postings.indptr[n]) : int(postings.indptr[n + 1])] for n in numbers]
    places = np.array([np.searchsorted(held, row) for held in spans], np.int64)  # without a term, too
    if any(at == len(held) or held[at] != row for at, held in zip(places, spans, strict=True)):
        yield POSTINGS, f"row {row} is missing from one of its terms"
        return
    chunks, average = connection.execute(SELECT_FTS_STATS).fetchall()[0]
    expected = bm25_weights(
        tf=np.array(list(counted.values()), np.int64),
        df=np.array([len(held) for held in spans], np.int64),
        length=counted.total(),
        chunks=chunks,
        average=average,
        k1=float(str(settings["k1"])),
        b=float(str(settings["b"])),
    )
    if not np.allclose(postings.weights[postings.indptr[numbers] + places], expected, rtol=1e-5):
        yield POSTINGS, f"row {row} has other weights than its terms give"
