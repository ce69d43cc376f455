"""Token-level output of the embedding model: one unit vector a token, from the graph that its export wrote.

Rows of one text never depend on what else is asked: every text runs alone, two at a time where there are two threads.
That is as fast as a padded batch, and the same text always gives the same bits.
"""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime
import tokenizers
from numpy.typing import NDArray

from rag_pipeline.embedding.exported import MODEL, TOKENIZER, read_exported
from rag_pipeline.errors import ModelUnavailable

OUTPUT = "last_hidden_state"
TokenIds = Sequence[int]
TokenVectors = NDArray[np.float32]
"""(tokens, dimension), unit length, special tokens left out."""


class TokenEncoder(Protocol):
    @property
    def fingerprint(self) -> str: ...

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, special tokens left out, untruncated."""
        ...

    def vectors(self, texts: Sequence[TokenIds]) -> list[TokenVectors]:
        """One array for each list of ids; the special tokens are put around it for the model."""
        ...


class OnnxTokenEncoder:
    """A BERT-like encoder as ONNX: `input_ids`, `attention_mask`, perhaps `token_type_ids` in, `last_hidden_state` out.

    Raises ModelUnavailable where a file is missing or the graph has no token-level output.
    """

    def __init__(self, model: Path, tokenizer: Path, *, fingerprint: str, threads: int = 0) -> None:
        for path in (model, tokenizer):
            if not path.is_file():
                raise ModelUnavailable(f"{path} is missing; load the embedding model again")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # every length is another shape
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        if OUTPUT not in {output.name for output in self._session.get_outputs()}:
            raise ModelUnavailable(f"{model} has no output {OUTPUT!r}; export the embedding model again, with it")
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._before, self._after = _special_tokens(self._tokenizer)
        self._workers = threads or os.cpu_count() or 1
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self.fingerprint = fingerprint

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def vectors(self, texts: Sequence[TokenIds]) -> list[TokenVectors]:
        if len(texts) < 2 or self._workers == 1:
            return [self._one(ids) for ids in texts]
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="token-vectors")
        return list(self._pool.map(self._one, texts))

    def _one(self, ids: TokenIds) -> TokenVectors:
        row = np.array([[*self._before, *ids, *self._after]], np.int64)
        given = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        states = self._session.run([OUTPUT], {name: given[name] for name in self._inputs})[0][0]
        return unit_rows(states[len(self._before) : len(row[0]) - len(self._after)])


def token_encoder(models: Path, fingerprint: str, *, threads: int = 0) -> OnnxTokenEncoder:
    """Of the embedding model that a release names. It holds the weights a second time, beside the embedder's.

    Raises ModelUnavailable, also where that model was not exported to ONNX.
    """
    folder = read_exported(models, fingerprint).folder
    return OnnxTokenEncoder(folder / MODEL, folder / TOKENIZER, fingerprint=fingerprint, threads=threads)


def unit_rows(states: NDArray[np.floating]) -> TokenVectors:
    """Rows of unit length; a row of zeros stays one."""
    norms = np.linalg.norm(states, axis=1, keepdims=True)
    return np.asarray(states / np.where(norms > 0, norms, 1.0), np.float32)


def _special_tokens(tokenizer: tokenizers.Tokenizer) -> tuple[list[int], list[int]]:
    """Ids that the model wants before and behind a text."""
    ids, mask = (encoding := tokenizer.encode("a")).ids, encoding.special_tokens_mask
    first = mask.index(0)
    last = len(mask) - mask[::-1].index(0)
    return ids[:first], ids[last:]
