"""What results show, as memory-mapped records beside the tables: reading one costs microseconds and opens no database.

Three stores of byte strings, each a data file and the offsets into it: `chunks` and `documents` hold small JSON arrays
in the order of their rows, `texts` the documents' text in UTF-8. They are written from the tables themselves, so the
two agree by construction; `verify.py` compares them. A chunk's content is its span of the text and is not kept again.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.dense import open_array
from rag_pipeline.index.files import RECORDS
from rag_pipeline.index.postings import term_hashes

STORES = ("chunks", "documents", "texts")
BATCH = 4096

# `also_in`: the duplicates that a document stands for.
SELECT_CHUNK_RECORDS = "SELECT chunk_id, section_id, headers, lead, kind FROM chunks ORDER BY row"
SELECT_DOCUMENT_RECORDS = """
SELECT d.row, d.doc_id, d.source, d.title, d.locators, list_sort(list(o.doc_id) FILTER (o.doc_id IS NOT NULL))
FROM documents d LEFT JOIN documents o ON o.canonical_id = d.doc_id GROUP BY ALL ORDER BY d.row
"""
SELECT_SECTION_IDS = "SELECT section_id FROM sections ORDER BY row"
SELECT_TEXTS = "SELECT text FROM documents ORDER BY row"


@dataclass(frozen=True, slots=True)
class ChunkFields:
    chunk_id: str
    section_id: str
    headers: tuple[tuple[int, str], ...]
    lead: str
    kind: str


@dataclass(frozen=True, slots=True)
class DocumentFields:
    doc_id: str
    source: str
    title: str
    locators: tuple[tuple[int, str], ...]
    also_in: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Store:
    offsets: NDArray[np.int64]
    """(records + 1,): record i is `data[offsets[i]:offsets[i + 1]]`."""
    data: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def get(self, row: int) -> bytes:
        """Raises IndexError outside the records."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        return self.data[int(self.offsets[row]) : int(self.offsets[row + 1])].tobytes()


@dataclass(frozen=True, slots=True)
class Records:
    chunks: Store
    documents: Store
    texts: Store
    section_hash: NDArray[np.uint64]
    """Sorted hashes of the section ids; (sections,)."""
    section_row: NDArray[np.int32]
    """The section that each of them is."""

    def section_rows(self, section_ids: Sequence[str]) -> list[int]:
        """-1 for one that does not exist. Two ids of one hash are told apart by who compares the id itself."""
        wanted = term_hashes(section_ids)
        at = np.searchsorted(self.section_hash, wanted)
        return [
            int(self.section_row[place]) if place < len(self.section_hash) and self.section_hash[place] == hash_ else -1
            for place, hash_ in zip(at, wanted, strict=True)
        ]

    def chunk(self, row: int) -> ChunkFields:
        chunk_id, section_id, headers, lead, kind = json.loads(self.chunks.get(row))
        path = tuple((int(level[1:]), heading) for level, heading in headers.items())
        return ChunkFields(chunk_id, section_id, path, lead, kind)

    def document(self, row: int) -> DocumentFields:
        doc_id, source, title, locators, also_in = json.loads(self.documents.get(row))
        places = tuple((offset, label) for offset, label in locators)
        return DocumentFields(doc_id, source, title, places, tuple(also_in))

    def text(self, row: int) -> str:
        """Of the whole document."""
        return self.texts.get(row).decode("utf-8")


def write_records(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """From the filled tables into `folder/records`."""
    (folder / RECORDS).mkdir()
    _write(
        folder,
        "chunks",
        (
            _json([chunk_id, section_id, _object(headers), lead, kind])
            for chunk_id, section_id, headers, lead, kind in _rows(connection, SELECT_CHUNK_RECORDS)
        ),
    )
    _write(
        folder,
        "documents",
        (
            _json([doc_id, source, title, json.loads(locators), also_in or []])
            for _, doc_id, source, title, locators, also_in in _rows(connection, SELECT_DOCUMENT_RECORDS)
        ),
    )
    ids = [section_id for (section_id,) in _rows(connection, SELECT_SECTION_IDS)]
    hashes = term_hashes(ids)
    order = np.argsort(hashes, kind="stable")
    np.save(folder / RECORDS / "section_hash.npy", hashes[order])
    np.save(folder / RECORDS / "section_row.npy", order.astype(np.int32))
    _write(folder, "texts", (text.encode("utf-8") for (text,) in _rows(connection, SELECT_TEXTS)))


def open_records(folder: Path) -> Records:
    """Memory-mapped. Raises OSError, ValueError."""
    chunks, documents, texts = (_open(folder, name) for name in STORES)
    ids, rows = (open_array(folder / RECORDS / f"section_{name}.npy") for name in ("hash", "row"))
    return Records(chunks, documents, texts, section_hash=ids, section_row=rows)


def _open(folder: Path, name: str) -> Store:
    offsets = open_array(folder / RECORDS / f"{name}.npy")
    path = folder / RECORDS / f"{name}.bin"
    size = path.stat().st_size
    data = np.memmap(path, np.uint8, "r") if size else np.zeros(0, np.uint8)  # an empty file can't be mapped
    if not len(offsets) or int(offsets[-1]) != size:
        raise ValueError(f"{path} has {size} bytes, its offsets say {int(offsets[-1]) if len(offsets) else 'nothing'}")
    return Store(offsets, data)


def _write(folder: Path, name: str, records: Iterator[bytes]) -> None:
    ends = [0]
    with (folder / RECORDS / f"{name}.bin").open("wb") as file:
        for record in records:
            file.write(record)
            ends.append(ends[-1] + len(record))
    np.save(folder / RECORDS / f"{name}.npy", np.array(ends, np.int64))


def _rows(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[tuple[Any, ...]]:
    cursor = connection.cursor().execute(sql)
    while batch := cursor.fetchmany(BATCH):
        yield from batch


@lru_cache(4096)
def _object(text: str) -> Any:
    return json.loads(text)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
