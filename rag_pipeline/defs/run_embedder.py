"""The embedder of one run: three steps and a check need it, and loading it hashes the weights and opens a session."""

from pathlib import Path

from rag_pipeline.embedding.base import Embedder
from rag_pipeline.embedding.registry import load_embedder
from rag_pipeline.settings.build import EmbeddingSettings

_last: tuple[tuple[str, EmbeddingSettings, Path], Embedder] | None = None


def run_embedder(run_id: str, settings: EmbeddingSettings, models: Path) -> Embedder:
    """Loaded once a run and process, so that one run sees one model whatever becomes of its files. Raises as
    `load_embedder`."""
    global _last
    key = run_id, settings, models
    if _last is None or _last[0] != key:
        _last = None  # two at once would hold the weights twice
        _last = key, load_embedder(settings, models)
    return _last[1]
