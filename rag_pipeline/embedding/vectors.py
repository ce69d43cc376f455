"""The folder that the embedding stage hands on: vectors.npy, rows.npy, ledger.parquet, vectors.json."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rag_pipeline.arrays import new_array
from rag_pipeline.durable import temporary_name, write_json
from rag_pipeline.embedding.cache import BLOCK, Keys, VectorCache
from rag_pipeline.embedding.publish import publish_folder
from rag_pipeline.embedding.soundness import Rejection
from rag_pipeline.file_identity import content_hash
from rag_pipeline.parquet import write_rows
from rag_pipeline.schema import LedgerEntry

CARD = "vectors.json"
FILES = ("vectors.npy", "rows.npy", "ledger.parquet")


@dataclass(frozen=True, slots=True)
class VectorsInfo:
    """`chunks` = `embedded` + `reused` + `rejected`."""

    key: str
    folder: Path
    chunks: int
    embedded: int
    """Texts that this run gave to the model and kept."""
    reused: int
    """Chunks whose vector was known, or whose text another chunk has too."""
    rejected: int
    """Chunks left out because their vector was unsound."""
    dimension: int
    fingerprint: str
    seconds: float
    problems: tuple[str, ...] = ()
    """Why vectors that were there already could not be used."""


def vectors_key(chunking_key: str, fingerprint: str, *, rejected: list[int] | None = None) -> str:
    """Names the vectors by their inputs, and by the rows left out where there are any."""
    inputs = [chunking_key, fingerprint, *([rejected] if rejected else [])]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:20]


def stored_vectors(folder: Path, *, seconds: float) -> VectorsInfo | None:
    """What is in a finished folder, all of it reused; None where there is none, or its files are not what they were."""
    try:
        card = json.loads((folder / CARD).read_text("utf-8"))
        checksum = card.pop("checksum")
        intact = checksum == _checksum(card) and card["files"] == _hashes(folder)
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    if not intact:
        return None
    return VectorsInfo(
        key=card["key"],
        folder=folder,
        chunks=card["chunks"],
        embedded=0,
        reused=card["vectors"],
        rejected=card["rejected"],
        dimension=card["dimension"],
        fingerprint=card["fingerprint"],
        seconds=seconds,
    )


def remove_damaged(folder: Path) -> tuple[str, ...]:
    """Take a folder away that `stored_vectors` does not accept, and say so; nothing where there is none."""
    if not folder.is_dir():
        return ()
    shutil.rmtree(folder)
    return (
        f"vectors {folder.name} changed since they were written, or have no checksums; they are put together again",
    )


def write_vectors(
    info: VectorsInfo,
    store: VectorCache,
    *,
    chunking: Path,
    keys: Keys,
    rows: NDArray[np.int64],
    refused: Mapping[int, Rejection],
) -> None:
    """Write `info.folder`: the vector of `keys[i]` belongs to row `rows[i]` of chunks.parquet; `refused` goes by row.

    Raises KeyError for a key that the store has no sound vector of.
    """
    info.folder.parent.mkdir(parents=True, exist_ok=True)
    partial = temporary_name(info.folder)
    partial.mkdir()
    try:
        _write_array(partial / "vectors.npy", store, keys)
        np.save(partial / "rows.npy", rows)
        write_rows(partial / "ledger.parquet", LedgerEntry, _ledger(chunking / "chunks.parquet", refused))
        card = {
            "key": info.key,
            "chunking": chunking.name,
            "fingerprint": info.fingerprint,
            "dimension": info.dimension,
            "chunks": info.chunks,
            "vectors": len(keys),
            "rejected": info.rejected,
            "cache_problems": store.problems,
            "files": _hashes(partial),
        }
        write_json(partial / CARD, {**card, "checksum": _checksum(card)})
        publish_folder(partial, info.folder, last=CARD)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_array(path: Path, store: VectorCache, keys: Keys) -> None:
    if not len(keys):
        np.save(path, np.zeros((0, store.dimension), np.float32))  # nothing can't be mapped
        return
    out = new_array(path, dtype=np.float32, shape=(len(keys), store.dimension))
    for first in range(0, len(keys), BLOCK):
        out[first : first + BLOCK] = store.get_many(keys[first : first + BLOCK])
    out.flush()


def _checksum(card: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(card, sort_keys=True).encode()).hexdigest()


def _hashes(folder: Path) -> dict[str, str]:
    return {name: content_hash(folder / name) for name in FILES}


def _ledger(source: Path, refused: Mapping[int, Rejection]) -> Iterator[LedgerEntry]:
    if not refused:
        return
    row = 0
    for batch in pq.ParquetFile(source).iter_batches(columns=["chunk_id", "doc_id", "start", "end"]):
        for chunk in batch.to_pylist():
            if row in refused:
                reason = refused[row]
                yield LedgerEntry(
                    path=chunk["doc_id"],
                    stage="embed",
                    outcome="failed",
                    rule=reason.rule,
                    detail=f"{chunk['chunk_id']}: {reason.detail}",
                    start=chunk["start"],
                    end=chunk["end"],
                )
            row += 1
