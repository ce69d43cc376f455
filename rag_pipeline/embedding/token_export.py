"""A small second form of an exported model, for reranking by its token vectors: tokens.onnx beside model.onnx.

It stops after two thirds of the layers and multiplies in int8: a third of the time and a fifth of the size. MaxSim over
states of the upper middle ranks as well as over the last ones, which were trained for the mean of a text, not for its
tokens (benchmarks/rerank_speed.py prints both). Vectors that are stored never come from it, so it takes no part in the
fingerprint.
"""

import logging
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.durable import temporary_name
from rag_pipeline.embedding.exported import MODEL, TOKENIZER, TOKENS, ExportedModel, write_card
from rag_pipeline.embedding.onnx_int8 import quantise
from rag_pipeline.embedding.onnx_runtime import OnnxEncoder
from rag_pipeline.embedding.quiet import quiet
from rag_pipeline.embedding.torch_export import load_model, write_onnx
from rag_pipeline.errors import MissingExtra

LEAST_COSINE = 0.95
"""Mean over a text's tokens, with the states of the model itself at that depth."""
_PROBE = "How do I rotate the API key of a service account, and what does E-4021 mean?"

logger = logging.getLogger(__name__)


def depth(layers: int) -> int:
    """After how many of the transformer's layers to stop: two thirds, rounded, at least one."""
    return max(1, round(layers * 2 / 3))


def write_token_model(live: Any, folder: Path) -> bool:
    """Write `folder/tokens.onnx`; False where it can't be done, which the log explains: embedding needs it not."""
    path = folder / TOKENS
    partial = temporary_name(path)
    layer = depth(int(live[0].auto_model.config.num_hidden_layers))
    try:
        with quiet():
            write_onnx(live, partial, layer=layer)
            quantise(partial, lookup=True)
            cosine = _cosine(live, partial, layer)
        if not cosine >= LEAST_COSINE:
            logger.warning("no %s for %s: cosine %.4f with the model's own token states", TOKENS, folder, cosine)
            return False
        partial.replace(path)
        return True
    except Exception as error:  # noqa: BLE001 - exporters raise anything; the log and the reranker's marker say so
        logger.warning("no %s for %s: %r", TOKENS, folder, error)
        return False
    finally:
        partial.unlink(missing_ok=True)


def add_token_model(exported: ExportedModel, source: Path) -> None:
    """Complete a folder of an earlier version; where torch is absent it stays as it is, and the log says so.

    Two processes at once write the same bytes.
    """
    try:
        live = load_model(source)
    except MissingExtra as error:
        logger.warning("no %s for %s: %s", TOKENS, exported.folder, error)
        return
    if write_token_model(live, exported.folder):
        write_card(exported.folder, model=exported.model, identity=exported.identity, files=(MODEL, TOKENIZER, TOKENS))


def lacks_token_model(exported: ExportedModel) -> bool:
    return MODEL in exported.files and TOKENS not in exported.files


def _cosine(live: Any, path: Path, layer: int) -> float:
    import torch

    ids = live.tokenizer(_PROBE, return_tensors="pt", truncation=True, max_length=min(64, live.max_seq_length))
    with torch.no_grad():
        own = live[0].auto_model(**ids, output_hidden_states=True, return_dict=True).hidden_states[layer][0].numpy()
    found = OnnxEncoder(path, threads=1, precision="int8").alone(np.asarray(ids["input_ids"].numpy(), np.int64))[0]
    lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(found, axis=1)
    return float(((own * found).sum(axis=1) / lengths).mean())
