"""Whether the vectors of a build can be searched and are those of its tables; a part of `verify.py`."""

from collections.abc import Iterator, Sequence

import duckdb
import numpy as np

from rag_pipeline.index.dense import OnDisk, batches, unsearchable
from rag_pipeline.index.files import LISTS, VECTORS
from rag_pipeline.index.open import Index

TOLERANCE = 1e-5
"""By which two products of the same vectors may differ: a sum of floats depends on its order (seen: 6e-7)."""


def vector_faults(
    index: Index, connection: duckdb.DuckDBPyConnection, rows: Sequence[int]
) -> Iterator[tuple[str, str]]:
    """(file, what is wrong with it). Every vector is of unit length, in one list, and has the same product with a fixed
    vector as the table's, which two seldom share by chance; those of `rows` are the table's number by number."""
    probe = np.random.default_rng(0).standard_normal(index.dimension).astype(np.float32)
    products = np.zeros(index.chunks, np.float32)
    for first, block in batches(OnDisk(index.folder / VECTORS)):
        if (bad := unsearchable(block)).any():
            yield VECTORS, f"{int(bad.sum())} vectors are NaN, zero or not of unit length from position {first}"
        products[first : first + len(block)] = block @ probe
    lists = index.vectors.lists
    if lists is not None:
        every = np.arange(index.chunks)
        spans = lists.indptr
        whole = len(spans) == len(lists.centroids) + 1 and int(spans[0]) == 0 and int(spans[-1]) == index.chunks
        if not whole or np.any(np.diff(spans) < 0) or not np.array_equal(lists.rows[lists.positions], every):
            yield LISTS, "the lists don't hold every row once"
            return
        products = products[lists.positions]
    sql = f"SELECT array_inner_product(embedding, ?::FLOAT[{index.dimension}]) AS product FROM chunks ORDER BY row"  # noqa: S608
    stored = np.ma.filled(connection.execute(sql, [probe.tolist()]).fetchnumpy()["product"], np.nan)
    if len(stored) != len(products):
        return  # that the counts differ is told elsewhere
    if differs := int((~(np.abs(stored - products) < TOLERANCE)).sum()):
        yield VECTORS, f"{differs} rows differ from the table"
    for row in rows:
        (embedding,) = connection.execute("SELECT embedding FROM chunks WHERE row = ?", [row]).fetchall()[0]
        if not np.array_equal(np.asarray(embedding, np.float32), index.vectors[row]):
            yield VECTORS, f"row {row} differs from the table"
