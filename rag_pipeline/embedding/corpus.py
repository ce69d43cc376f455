"""The vectors of one chunking by one model; every text is embedded once, ever.

Lives here: the order of work, and storing often enough that a killed run is resumed. Storing vectors belongs to
cache.py, the resulting folder to vectors.py, making vectors to the embedder.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rag_pipeline.embedding.base import Embedder, Vectors
from rag_pipeline.embedding.cache import VectorCache, as_keys, text_key
from rag_pipeline.embedding.soundness import Rejection
from rag_pipeline.embedding.vectors import VectorsInfo, remove_damaged, stored_vectors, vectors_key, write_vectors
from rag_pipeline.errors import InvalidSource, ModelUnavailable
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Progress

WINDOW_TEXTS = 20_000
"""Texts held at once and sorted by length."""
CALL_TEXTS = 64
"""Texts handed to the embedder at once."""
FLUSH_SECONDS = 5.0
"""A kill loses what was embedded since the last flush: about this long and one call."""

Report = Callable[[Progress], None]


@dataclass(slots=True)
class _Work:
    """Texts embedded and not stored yet, and what was refused."""

    cache: VectorCache
    embedded: int = 0
    refused: dict[bytes, Rejection] = field(default_factory=dict)
    _digests: list[bytes] = field(default_factory=list)
    _vectors: list[Vectors] = field(default_factory=list)
    _flushed: float = field(default_factory=time.monotonic)

    def add(self, digests: list[bytes], vectors: Vectors) -> None:
        if len(vectors) != len(digests):
            raise ModelUnavailable(
                f"the embedder gave {len(vectors)} vectors for {len(digests)} texts; check the model"
            )
        self._digests += digests
        self._vectors.append(vectors)
        if time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self._digests:
            digests, vectors = self._digests, np.concatenate(self._vectors)
            self._digests, self._vectors = [], []
            rejected = self.cache.put(as_keys(digests), vectors)
            self.refused.update({digests[r.position]: r for r in rejected})
            self.embedded += len(digests) - len(rejected)
        self._flushed = time.monotonic()


def embed_corpus(
    chunking: Path,
    embedder: Embedder,
    *,
    cache: Path,
    paths: CollectionPaths,
    progress: Report | None = None,
) -> VectorsInfo:
    """Vectors of every chunk in `chunking` into `paths.vectors(key)`; `cache` is the folder of this fingerprint.

    A folder of that key is reused where its files are what they were, else put together anew. A killed run loses a few
    seconds: the next one takes the rest from the cache. A chunk whose vector is unsound is left out and in the ledger,
    and the folder's key then says so, so that a later healthy run is another folder. Whatever the
    embedder raises rises with a note, after storing what is done. Raises InvalidSource without chunks.parquet,
    IncompatibleBuild for another model's cache, ModelUnavailable when no vector is sound.
    """
    started = time.monotonic()
    source = chunking / "chunks.parquet"
    if not source.is_file():
        raise InvalidSource(f"{chunking} holds no chunks.parquet; chunk the documents again")
    healthy = paths.vectors(vectors_key(chunking.name, embedder.fingerprint))
    stored = stored_vectors(healthy, seconds=time.monotonic() - started)
    if stored is not None:
        return stored
    problems = remove_damaged(healthy)
    digests = [text_key(text, role="document") for text in _texts(source)]
    work = _Work(VectorCache(cache, fingerprint=embedder.fingerprint, dimension=embedder.dimension))
    _embed_missing(source, digests, embedder, work, progress)
    rows = np.array([row for row, digest in enumerate(digests) if digest not in work.refused], np.int64)
    if digests and not len(rows):
        first = next(iter(work.refused.values()))
        raise ModelUnavailable(
            f"the model {embedder.model} gave no sound vector for any of {len(digests)} chunks ({first.rule}: "
            f"{first.detail}); check the model"
        )
    refused = {row: work.refused[digest] for row, digest in enumerate(digests) if digest in work.refused}
    key = vectors_key(chunking.name, embedder.fingerprint, rejected=sorted(refused))
    info = VectorsInfo(
        key=key,
        folder=paths.vectors(key),
        chunks=len(digests),
        embedded=work.embedded,
        reused=len(rows) - work.embedded,
        rejected=len(refused),
        dimension=embedder.dimension,
        fingerprint=embedder.fingerprint,
        seconds=time.monotonic() - started,
    )
    if stored_vectors(info.folder, seconds=0) is None:
        problems += remove_damaged(info.folder)
        keys = as_keys(digests[row] for row in rows)
        write_vectors(info, work.cache, chunking=chunking, keys=keys, rows=rows, refused=refused)
    return replace(info, problems=problems)


def _embed_missing(
    source: Path, digests: list[bytes], embedder: Embedder, work: _Work, progress: Report | None
) -> None:
    missing = _missing(digests, work.cache)
    total, done, started = len(missing), 0, time.monotonic()
    note = f"{len(set(digests)) - total} texts known already"

    def report() -> None:
        if progress is not None:
            progress(Progress("embed", done, total, time.monotonic() - started, note))

    report()
    try:
        for window in _windows(source, digests, missing):
            window.sort(key=lambda pair: len(pair[1]), reverse=True)
            for first in range(0, len(window), CALL_TEXTS):
                part = window[first : first + CALL_TEXTS]
                work.add([digest for digest, _ in part], embedder.embed([text for _, text in part], "document"))
                done += len(part)
                report()
    except BaseException as error:
        work.flush()
        error.add_note(
            f"{work.embedded} of {total} texts are embedded and kept in {work.cache.folder}; "
            "run the same again to embed the rest"
        )
        raise
    work.flush()


def _missing(digests: list[bytes], cache: VectorCache) -> set[bytes]:
    distinct = list(dict.fromkeys(digests))
    known: NDArray[np.bool_] = cache.find(as_keys(distinct))
    return {digest for digest, there in zip(distinct, known, strict=True) if not there}


def _windows(source: Path, digests: list[bytes], missing: set[bytes]) -> Iterator[list[tuple[bytes, str]]]:
    """The texts to embed, each once, in pieces that fit in memory."""
    left = set(missing)
    window: list[tuple[bytes, str]] = []
    for digest, text in zip(digests, _texts(source), strict=True):
        if digest in left:
            left.discard(digest)
            window.append((digest, text))
            if len(window) == WINDOW_TEXTS:
                yield window
                window = []
    if window:
        yield window


def _texts(source: Path) -> Iterator[str]:
    for batch in pq.ParquetFile(source).iter_batches(batch_size=2000, columns=["search_text"]):
        yield from batch.column(0).to_pylist()
