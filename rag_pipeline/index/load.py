"""Filling `index.duckdb` and its sidecars from the Parquet files and vectors of the earlier stages, in bulk.

Indexes come last: DuckDB's fts never sees rows inserted after it was built. Nothing here decides where a build lies or
whether it may be used.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rag_pipeline.arrays import new_array
from rag_pipeline.errors import InvalidSource
from rag_pipeline.index.dense import BATCH, given_vectors, open_array, write_vectors
from rag_pipeline.index.duckdb_settings import connect_for_building
from rag_pipeline.index.files import DATABASE, LAYOUT, LAYOUT_COLUMNS, VECTORS
from rag_pipeline.index.inputs import Inputs
from rag_pipeline.index.lexical import index_tokens, write_postings
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
    STAGE_CHUNKS,
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
        given = _load_chunks(connection, folder, inputs, dimension=dimension, model=model)
        _write_layout(connection, folder)
        write_records(connection, folder)
        index_tokens(connection, Analyzer(settings.language))
        terms, postings = write_postings(connection, folder, k1=settings.k1, b=settings.b)
        connection.execute(CREATE_ROW_INDEXES)
        counts = {name: _count(connection, name) for name in COUNTED}
        hnsw = settings.hnsw is True or (settings.hnsw == "auto" and counts["chunks"] <= HNSW_UP_TO)
        if hnsw:
            connection.execute(CREATE_HNSW.format(m=settings.hnsw_m, ef_construction=settings.hnsw_ef_construction))
        counts["hnsw"] = int(hnsw)
        connection.executemany("INSERT INTO index_info VALUES (?, ?)", sorted(info.items()))
        counts |= {"terms": terms, "postings": postings, "unembedded": given - counts["chunks"]}
        counts["restricted"] = int(connection.execute(COUNT_RESTRICTED).fetchall()[0][0])
        counts |= _group_vectors(folder, settings, chunks=counts["chunks"])
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
        shutil.rmtree(folder / "spill", ignore_errors=True)
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


def _load_chunks(
    connection: duckdb.DuckDBPyConnection, folder: Path, inputs: Inputs, *, dimension: int, model: str
) -> int:
    """Texts by Parquet, embeddings by Arrow batches from the memory-mapped vectors, both in the build's row order.

    Returns the number of chunks before those without a vector were left out.
    """
    vectors, rows = given_vectors(inputs.vectors, dimension=dimension, model=model)
    available = pq.ParquetFile(folder / "chunks.parquet").metadata.num_rows
    if len(np.unique(rows)) < len(rows) or (len(rows) and not 0 <= rows.min() <= rows.max() < available):
        raise InvalidSource(
            f"{inputs.vectors}: rows.npy does not fit the {available} chunks of {inputs.chunking};"
            " run the embedding step again"
        )
    kept = pa.table({"vector": np.arange(len(rows)), "position": np.asarray(rows, np.int64)})
    connection.register("kept", kept)
    connection.execute(STAGE_CHUNKS, [str(folder / "chunks.parquet")])
    connection.unregister("kept")
    order = np.asarray(connection.execute("SELECT vector FROM staged ORDER BY row").fetchnumpy()["vector"], np.int64)
    for first, batch in write_vectors(folder / VECTORS, vectors, order):
        embedding = pa.FixedSizeListArray.from_arrays(pa.array(batch.ravel()), dimension)
        row = pa.array(np.arange(first, first + len(batch), dtype=np.int32))
        connection.register("batch", pa.table({"row": row, "embedding": embedding}))
        connection.execute(LOAD_CHUNKS)
        connection.unregister("batch")
    connection.execute("DROP TABLE staged")
    return int(available)


def _group_vectors(folder: Path, settings: IndexSettings, *, chunks: int) -> dict[str, int]:
    """Inverted lists for a build that is large enough; vectors.npy is then put into their order."""
    if chunks < settings.lists_from:
        return {"lists": 0, "probes": 0}
    vectors = open_array(folder / VECTORS)
    lists = make_lists(vectors, lists=settings.lists)
    probes = probes_needed(vectors, lists)
    write_lists(folder, lists)
    grouped = new_array(folder / GROUPED, dtype=np.float32, shape=vectors.shape)
    for first in range(0, chunks, BATCH):
        grouped[first : first + BATCH] = vectors[lists.rows[first : first + BATCH]]
    grouped.flush()
    (folder / GROUPED).replace(folder / VECTORS)
    return {"lists": len(lists.centroids), "probes": probes}


def _write_layout(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """int32 (chunks, columns), see `open.Layout`. A chunk without its document or section is missing."""
    columns = connection.execute(SELECT_LAYOUT).fetchnumpy()
    stacked = np.stack([np.asarray(columns[n], np.int32) for n in LAYOUT_COLUMNS], axis=1)
    np.save(folder / LAYOUT, stacked)


def _headers_object(pairs: str) -> str:
    """The path as Parquet keeps it, `[[1, "Setup"]]`, to the JSON object that SQL users see, `{"h1": "Setup"}`."""
    return json.dumps(headers_json(tuple((level, title) for level, title in json.loads(pairs))), ensure_ascii=False)


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])  # noqa: S608
