"""A sentence-transformers CrossEncoder: the ms-marco MiniLM family, bge-reranker-v2-m3, jina-reranker-v2, or a folder.

Needs torch, so it is for machines with the [build] extra; nothing is downloaded unless that is asked for.
"""

import threading
from collections.abc import Sequence
from typing import Any

from rag_pipeline.errors import MissingExtra, ModelUnavailable
from rag_pipeline.reranking.base import Passage, Ranked, best_first


class CrossEncoderReranker:
    """Raises MissingExtra without sentence-transformers, ModelUnavailable where the model can't be loaded."""

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int = 512,
        batch: int = 32,
        download: bool = False,
        trust_remote_code: bool = False,
    ) -> None:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise MissingExtra("sentence-transformers", "build") from error
        try:
            self._model: Any = CrossEncoder(
                model,
                max_length=max_tokens,
                device="cpu",
                local_files_only=not download,
                trust_remote_code=trust_remote_code,
            )
        except (OSError, ValueError, KeyError) as error:
            raise ModelUnavailable(
                f"cross-encoder {model!r} could not be loaded ({str(error)[:200]});"
                " give a folder that holds it, or allow the download"
            ) from error
        self.name = f"cross_encoder:{model}"
        self._batch = batch
        self._lock = threading.Lock()

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        if not passages:
            return ()
        pairs = [(query, passage.text) for passage in passages]
        with self._lock:  # its tokenizer sets truncation for each call and is not safe to share
            scores = self._model.predict(pairs, batch_size=self._batch, show_progress_bar=False)
        if scores.ndim != 1:
            raise ModelUnavailable(
                f"{self.name} gives {scores.shape[1]} numbers a passage; choose a model with one label"
            )
        return best_first(zip((passage.id for passage in passages), scores.tolist(), strict=True), top_k=top_k)
