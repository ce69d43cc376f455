"""FlashRank's cross-encoders, from a folder in its layout, without what its own loader does on the side.

That loader sets up logging for the whole process, downloads into the temporary folder without a checksum or time limit,
and takes a folder that exists for a model that is complete. It is not called: the model is opened here, its file is
compared with a pinned hash, and only the library's tokenizer set-up and scoring are used, on copies.
Fetching a model is `flashrank_fetch.py`'s.
"""

import hashlib
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_pipeline.errors import MissingExtra, ModelUnavailable
from rag_pipeline.reranking.base import Passage, Ranked, best_first

FILES = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")
MAX_BATCH = 32


class FlashRankReranker:
    """`folder` is named like one of the library's models, which says which .onnx file it holds.

    `sha256` pins that file; without it the hash is only part of `name`. Raises MissingExtra without flashrank,
    ModelUnavailable for an unknown model, a missing file, another hash, or files that can't be read.
    """

    def __init__(self, folder: Path, *, sha256: str = "", max_tokens: int = 512, threads: int = 0) -> None:
        try:
            from flashrank import Ranker
            from flashrank.Config import listwise_rankers
        except ImportError as error:
            raise MissingExtra("flashrank", "rerank") from error
        import onnxruntime

        name = folder.name
        model = folder / model_file(name)
        if name in listwise_rankers:
            raise ModelUnavailable(f"{name} is a language model that scores nothing; choose a cross-encoder")
        missing = [file for file in (model.name, *FILES) if not (folder / file).is_file()]
        if missing:
            raise ModelUnavailable(
                f"{folder}: {', '.join(missing)} missing, so the model is not complete; fetch it again"
            )
        found = file_sha256(model)
        if sha256 and found != sha256.lower():
            raise ModelUnavailable(
                f"{model}: sha256 is {found}, expected {sha256.lower()}; fetch it again, or pin the hash you trust"
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        ranker: Any = Ranker.__new__(Ranker)  # without __init__: see the module's docstring
        ranker.logger = logging.getLogger("flashrank")
        ranker.cache_dir, ranker.model_dir, ranker.llm_model = folder.parent, folder, None
        try:
            ranker.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            ranker.tokenizer = ranker._get_tokenizer(max_tokens)
        except Exception as error:
            raise ModelUnavailable(f"{folder}: can't be loaded ({str(error)[:200]}); fetch it again") from error
        self.name = f"flashrank:{name}:{found[:12]}"
        self._ranker = ranker
        self._lock = threading.Lock()

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        from flashrank import RerankRequest

        scores: list[tuple[str, float]] = []
        for at in range(0, len(passages), MAX_BATCH):
            copies = [{"id": passage.id, "text": passage.text} for passage in passages[at : at + MAX_BATCH]]
            with self._lock:
                ranked = self._ranker.rerank(RerankRequest(query=query, passages=copies))
            scores += [(str(row["id"]), float(row["score"])) for row in ranked]
        return best_first(scores, top_k=top_k)


def model_file(name: str) -> str:
    """The .onnx file of one of the library's models. Raises ModelUnavailable, MissingExtra."""
    try:
        from flashrank.Config import model_file_map
    except ImportError as error:
        raise MissingExtra("flashrank", "rerank") from error
    if name not in model_file_map:
        raise ModelUnavailable(
            f"{name!r} is no FlashRank model; name the folder like one of: {', '.join(sorted(model_file_map))}"
        )
    return str(model_file_map[name])


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
