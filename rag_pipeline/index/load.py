"""Filling `index.duckdb` and its sidecars from the Parquet files and vectors of the earlier stages, in bulk.

Rows first, indexes over them afterwards. Nothing here decides where a build lies or whether it may be used.
"""

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rag_pipeline.errors import InvalidSource
from rag_pipeline.index.dense import OnDisk, batches, given_vectors, write_vectors
from rag_pipeline.index.duckdb_settings import connect_for_building, registered
from rag_pipeline.index.files import DATABASE, LAYOUT, LAYOUT_COLUMNS, VECTORS
from rag_pipeline.index.inputs import Inputs
from rag_pipeline.index.lexical import index_texts
from rag_pipeline.index.lists import make_lists, probes_needed, write_lists
from rag_pipeline.index.records import write_records
from rag_pipeline.index.schema_sql import (
    COUNT_RESTRICTED,
    CREATE_HNSW,
    CREATE_ROW_INDEXES,
    LOAD_CHUNKS,
    LOAD_DOCUMENTS,
    LOAD_LEDGER,
    LOAD_SECTIONS,
    SELECT_LAYOUT,
    SELECT_ORDER,
    TABLES,
)
from rag_pipeline.schema import headers_json
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline.text.analyzer import Analyzer

HNSW_UP_TO = 100_000
"""Chunks up to which `hnsw = "auto"` builds the index."""
GROUPED = "vectors.grouped.npy"
COUNTED = ("documents", "sections", "chunks", "ledger")


def fill(
    folder: Path, inputs: Inputs, *, settings: IndexSettings, dimension: int, model: str, info: Mapping[str, str]
) -> dict[str, int]:
    """Write everything but the manifest into `folder`; returns the counts. Raises InvalidSource, IncompatibleBuild."""
    _copy_parquet(folder, inputs)
    connection = connect_for_building(folder / DATABASE)
    try:
        connection.execute(TABLES.format(dimension=dimension))
        connection.create_function("headers_object", _headers_object, ["VARCHAR"], "VARCHAR")
        connection.execute(LOAD_DOCUMENTS, [str(folder / "documents.parquet")])
        connection.execute(LOAD_SECTIONS, [str(folder / "sections.parquet")])
        connection.execute(LOAD_LEDGER, [str(folder / "ledger.parquet")])
        given, positions = _write_vectors(connection, folder, inputs, dimension=dimension, model=model)
        hnsw = settings.hnsw is True or (settings.hnsw == "auto" and len(positions) <= HNSW_UP_TO)
        with ThreadPoolExecutor(1) as beside:  # native code, next to Python that keeps one core at best
            lists = beside.submit(_group_vectors, folder, settings, chunks=len(positions))
            _load_chunks(connection, folder, positions, dimension=dimension)
            connection.execute(CREATE_ROW_INDEXES)
            graph = beside.submit(_create_hnsw, connection.cursor(), settings) if hnsw else None
            _write_layout(connection, folder)
            write_records(connection, folder)
            terms, postings = index_texts(connection, folder, Analyzer(settings.language), k1=settings.k1, b=settings.b)
            grouped = lists.result()
            if graph:
                graph.result()
        connection.executemany("INSERT INTO index_info VALUES (?, ?)", sorted(info.items()))
        counts = {name: _count(connection, name) for name in COUNTED}
        counts |= {"terms": terms, "postings": postings, "unembedded": given - len(positions)}
        counts["restricted"] = int(connection.execute(COUNT_RESTRICTED).fetchall()[0][0])
        counts |= {"hnsw": int(hnsw), **grouped}
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
        shutil.rmtree(folder / "spill", ignore_errors=True)
    if counts["lists"]:
        (folder / GROUPED).replace(folder / VECTORS)
    return counts


def _copy_parquet(folder: Path, inputs: Inputs) -> None:
    shutil.copyfile(inputs.snapshot / "documents.parquet", folder / "documents.parquet")
    shutil.copyfile(inputs.chunking / "sections.parquet", folder / "sections.parquet")
    shutil.copyfile(inputs.chunking / "chunks.parquet", folder / "chunks.parquet")
    ledgers = [pq.ParquetFile(path) for path in inputs.ledgers()]
    with pq.ParquetWriter(folder / "ledger.parquet", ledgers[0].schema_arrow, compression="zstd") as writer:
        for ledger in ledgers:
            for batch in ledger.iter_batches():
                writer.write_batch(batch)


def _write_vectors(
    connection: duckdb.DuckDBPyConnection, folder: Path, inputs: Inputs, *, dimension: int, model: str
) -> tuple[int, NDArray[np.int64]]:
    """vectors.npy in the build's order. Returns the number of chunks before those without a vector were left out, and
    for every row of the build its place in chunks.parquet."""
    vectors, rows = given_vectors(inputs.vectors, dimension=dimension, model=model)
    available = int(pq.ParquetFile(folder / "chunks.parquet").metadata.num_rows)
    if len(np.unique(rows)) < len(rows) or (len(rows) and not 0 <= rows.min() <= rows.max() < available):
        raise InvalidSource(
            f"{inputs.vectors}: rows.npy does not fit the {available} chunks of {inputs.chunking};"
            " run the embedding step again"
        )
    with registered(connection, "given", pa.table({"vector": np.arange(len(rows)), "position": rows})):
        order = connection.execute(SELECT_ORDER, [str(folder / "chunks.parquet")]).fetchnumpy()
    write_vectors(folder / VECTORS, vectors, np.asarray(order["vector"], np.int64))
    return available, np.asarray(order["position"], np.int64)


def _load_chunks(
    connection: duckdb.DuckDBPyConnection, folder: Path, positions: NDArray[np.int64], *, dimension: int
) -> None:
    """Texts from Parquet beside embeddings from vectors.npy, both in the build's row order."""
    schema = pa.schema([("embedding", pa.list_(pa.float32(), dimension))])
    blocks = (
        pa.record_batch([pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), dimension)], schema=schema)
        for _, block in batches(OnDisk(folder / VECTORS))
    )
    ordered = pa.table({"row": np.arange(len(positions), dtype=np.int32), "position": positions})
    with (
        registered(connection, "ordered", ordered),
        registered(connection, "embeddings", pa.RecordBatchReader.from_batches(schema, blocks)),
    ):
        connection.execute(LOAD_CHUNKS, [str(folder / "chunks.parquet")])


def _group_vectors(folder: Path, settings: IndexSettings, *, chunks: int) -> dict[str, int]:
    """Inverted lists for a build that is large enough, and the vectors in their order, under a name of their own."""
    if chunks < settings.lists_from:
        return {"lists": 0, "probes": 0}
    vectors = OnDisk(folder / VECTORS)
    lists = make_lists(vectors, lists=settings.lists)
    write_lists(folder, lists)
    write_vectors(folder / GROUPED, vectors, lists.rows)
    return {"lists": len(lists.centroids), "probes": probes_needed(vectors, lists)}


def _create_hnsw(cursor: duckdb.DuckDBPyConnection, settings: IndexSettings) -> None:
    with cursor:
        cursor.execute(CREATE_HNSW.format(m=settings.hnsw_m, ef_construction=settings.hnsw_ef_construction))


def _write_layout(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """int32 (chunks, columns), see `open.Layout`. A chunk without its document or section is missing."""
    columns = connection.execute(SELECT_LAYOUT).fetchnumpy()
    stacked = np.stack([np.asarray(columns[n], np.int32) for n in LAYOUT_COLUMNS], axis=1)
    np.save(folder / LAYOUT, stacked)


@lru_cache(4096)
def _headers_object(pairs: str) -> str:
    """The path as Parquet keeps it, `[[1, "Setup"]]`, to the JSON object that SQL users see, `{"h1": "Setup"}`."""
    return json.dumps(headers_json(tuple((level, title) for level, title in json.loads(pairs))), ensure_ascii=False)


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])  # noqa: S608
