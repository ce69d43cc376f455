"""Models small enough to compute by hand: an ONNX table of word vectors, and a random two-layer BERT."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from rag_pipeline.embedding.exported import ExportedModel, read_exported, write_card
from rag_pipeline.embedding.fingerprint import ModelIdentity, fingerprint

WORDS: Mapping[str, Sequence[float]] = {
    "[UNK]": (0, 0, 1),
    "east": (1, 0, 0),
    "north": (0, 1, 0),
    "far": (3, 4, 0),
    "query:": (0, 0, 2),
}


def identity(**changes: Any) -> ModelIdentity:
    fields: dict[str, Any] = {
        "weights_sha256": "w",
        "tokenizer_sha256": "t",
        "config_sha256": "c",
        "dimension": 3,
        "max_tokens": 8,
        "pooling": "mean",
        "normalize": True,
        "runtime": "onnxruntime",
        "precision": "fp32",
        "query_prefix": "",
        "document_prefix": "",
    }
    return ModelIdentity(**(fields | changes))


def exported_table(models: Path, **changes: Any) -> ExportedModel:
    """A folder whose model gives every token the vector of `WORDS`, without special tokens."""
    import onnx
    from onnx import TensorProto, helper

    this = identity(**changes)
    folder = models / fingerprint(this)
    folder.mkdir(parents=True)
    table = np.array(list(WORDS.values()), np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "table",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", 3])],
        [helper.make_tensor("table", TensorProto.FLOAT, table.shape, table.ravel())],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "model.onnx")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    words.save(str(folder / "tokenizer.json"))
    write_card(folder, model="table", identity=this, files=("model.onnx", "tokenizer.json"))
    return read_exported(models, folder.name)


def write_description(folder: Path, files: Mapping[str, Any]) -> Path:
    """A model folder as far as description.py looks: JSON files, and weights and tokenizer of a few bytes."""
    for name, content in {"model.safetensors": b"weights", "tokenizer.json": b"{}", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


def random_bert(
    folder: Path, *, seed: int = 0, pooling: str = "mean", dimension: int = 16, dense: bool = False
) -> Path:
    """A sentence-transformers model with random weights that reads 12 tokens. Imports torch."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import BertConfig, BertModel

    from rag_pipeline.embedding.quiet import quiet

    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789.,?!東京"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{x}" for x in letters)]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=dimension,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    bare = folder.with_name(folder.name + "-bare")
    bare.mkdir(parents=True)
    (bare / "vocab.txt").write_text("\n".join(vocabulary) + "\n", "utf-8")
    (bare / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True}))
    with quiet():
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(bare)
        transformer = Transformer(str(bare), processor_kwargs={"model_max_length": 12})
        modules: list[Any] = [transformer, Pooling(dimension, pooling)]
        if dense:
            modules.append(Dense(in_features=dimension, out_features=8))
        SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
    return folder
