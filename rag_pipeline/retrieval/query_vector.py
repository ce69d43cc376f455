"""Query embeddings: the model of a release, opened once a process, and the last vectors it gave."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.errors import IncompatibleBuild
from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.query import TRUNCATED

if TYPE_CHECKING:
    from rag_pipeline.embedding.base import Embedder

CACHED_VECTORS = 1024
SPECIAL_TOKENS = 2

_embedders: "dict[tuple[Path, str], Embedder]" = {}
Role = Literal["query", "document"]
_vectors: OrderedDict[tuple[Path, str, Role, str], NDArray[np.float32]] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class QueryVector:
    vector: NDArray[np.float32]
    """Unit length."""
    markers: tuple[str, ...]
    cached: bool


def query_vector(text: str, *, index: Index, models: Path, fingerprint: str, role: Role = "query") -> QueryVector:
    """What exceeds the model's limit is cut off, with a marker. Role "document": a made-up passage.

    Raises ModelUnavailable where the model is not on this machine, IncompatibleBuild where it is not the build's.
    """
    embedder = _embedder(models, fingerprint)
    if embedder.dimension != index.dimension:
        built = index.manifest.embedder
        raise IncompatibleBuild(
            f"the query model {embedder.model} ({embedder.fingerprint}) has dimension {embedder.dimension}, the build"
            f" was embedded by {built['model']} ({built['fingerprint']}) with {index.dimension}; re-index"
        )
    text, markers = _fitting(text, embedder)
    key = (models, fingerprint, role, text)
    with _lock:
        if key in _vectors:
            _vectors.move_to_end(key)
            return QueryVector(_vectors[key], markers, cached=True)
    vector = np.ascontiguousarray(embedder.embed([text], role)[0], np.float32)
    with _lock:
        _vectors[key] = vector
        while len(_vectors) > CACHED_VECTORS:
            _vectors.popitem(last=False)
    return QueryVector(vector, markers, cached=False)


def query_model(models: Path, fingerprint: str) -> "Embedder":
    """The model of a release, opened once a process; its tokenizer counts a context. Raises ModelUnavailable."""
    return _embedder(models, fingerprint)


def forget() -> None:
    """Drop models and vectors, for tests and for a process that stops serving."""
    with _lock:
        _embedders.clear()
        _vectors.clear()


def _embedder(models: Path, fingerprint: str) -> "Embedder":
    key = (models, fingerprint)
    with _lock:
        if key not in _embedders:
            from rag_pipeline.embedding.registry import open_embedder  # onnxruntime: a BM25 query needs none of it

            _embedders[key] = open_embedder(models, fingerprint)
        return _embedders[key]


def _fitting(text: str, embedder: "Embedder") -> tuple[str, tuple[str, ...]]:
    room = embedder.max_tokens - SPECIAL_TOKENS - embedder.tokenizer.count(embedder.query_prefix)
    if len(text) <= room:  # no token is shorter than a character
        return text, ()
    spans = embedder.tokenizer.spans(text)
    if len(spans) <= room:
        return text, ()
    return text[: spans[room - 1][1]], (TRUNCATED,)
