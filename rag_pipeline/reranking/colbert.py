"""Late interaction with a model trained for it (ColBERT, Khattab and Zaharia 2020), from a folder.

sentence-transformers loads its own layout, PyLate's and the original ColBERT's. It also makes such a model of any
other one, with a projection of random numbers: a folder that doesn't say that it is one is refused.
The score of a passage is the mean, over the query's vectors, of the highest dot product with one of the passage.
"""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_pipeline.errors import MissingExtra, ModelUnavailable
from rag_pipeline.reranking.base import Passage, Ranked, best_first
from rag_pipeline.reranking.maxsim import WINDOW, max_similarity
from rag_pipeline.reranking.pin import weights_sha256
from rag_pipeline.reranking.windows import best_window

KINDS = ("MultiVectorEncoder", "ColBERT")
"""What config_sentence_transformers.json calls such a model; the second is PyLate's."""
ARCHITECTURE = "HF_ColBERT"
"""What the original ColBERT's config.json says."""


class ColbertReranker:
    """`window`: tokens around the hit that are read of a passage.

    Raises MissingExtra without sentence-transformers, ModelUnavailable for a folder that holds no such model.
    """

    def __init__(self, folder: Path, *, window: int = WINDOW) -> None:
        check_colbert(folder)
        try:
            from sentence_transformers import MultiVectorEncoder
        except ImportError as error:
            raise MissingExtra(error.name or "sentence-transformers", "build") from None
        from rag_pipeline.embedding.quiet import quiet

        try:
            with quiet():
                self._model: Any = MultiVectorEncoder(str(folder), device="cpu", local_files_only=True).float().eval()
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, ImportError) as error:
            raise ModelUnavailable(
                f"{folder}: the ColBERT model can't be loaded ({str(error)[:200]}); complete or fetch the folder again"
            ) from error
        self.name = f"colbert:{folder.name}:{weights_sha256(folder)[:12]}:{window}"
        self._window = window
        self._lock = threading.Lock()

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        if not passages or not query.strip():
            return ()
        with self._lock:  # its tokenizer sets truncation for each call and is not safe to share
            asked = self._ids(query)[0]
            shown = [self._shown(asked, passage.text) for passage in passages]
            # One text a run: in a padded batch a text's low bits would depend on its neighbours.
            settings = {"batch_size": 1, "normalize_embeddings": True, "convert_to_numpy": True}
            question = self._model.encode_query(query, show_progress_bar=False, **settings)
            answers = self._model.encode_document(shown, show_progress_bar=False, **settings)
        scored = (
            (passage.id, max_similarity(question, answer))
            for passage, answer in zip(passages, answers, strict=True)
            if len(answer) and passage.text.strip()
        )
        return best_first(scored, top_k=top_k)

    def _shown(self, asked: list[int], text: str) -> str:
        ids, spans = self._ids(text)
        first, last = best_window(asked, ids, size=self._window)
        return text[spans[first][0] : spans[last - 1][1]] if len(ids) > self._window else text

    def _ids(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoded = self._model.tokenizer(
            text, add_special_tokens=False, truncation=False, return_offsets_mapping=True, verbose=False
        )
        return encoded["input_ids"], encoded["offset_mapping"]


def check_colbert(folder: Path) -> None:
    """Raises ModelUnavailable where `folder` doesn't say that it holds a late-interaction model."""
    if not folder.is_dir():
        raise ModelUnavailable(f"{str(folder)!r} is no folder; give the folder of a ColBERT model as `model`")
    kind = _json(folder / "config_sentence_transformers.json").get("model_type")
    if kind in KINDS or ARCHITECTURE in (_json(folder / "config.json").get("architectures") or ()):
        return
    raise ModelUnavailable(
        f"{folder} holds no ColBERT model: config_sentence_transformers.json says model_type {kind!r}, not "
        f'"{KINDS[0]}", and config.json has not the architecture {ARCHITECTURE}; give the folder of one as `model`, or '
        'use the reranker "maxsim", which takes the token vectors of the embedding model'
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{path} is not readable as JSON ({error}); fetch the model again") from error
    return found if isinstance(found, dict) else {}
