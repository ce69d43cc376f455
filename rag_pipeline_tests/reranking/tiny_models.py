"""Models small enough to make in a test: a WordPiece tokenizer over a few words, an encoder, a cross-encoder."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def write_tokenizer(path: Path, words: Sequence[str]) -> None:
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *words])}
    tokenizer = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(path))


def write_encoder(path: Path, table: np.ndarray, *, output: str = "last_hidden_state") -> None:
    """A token's vector is its row of `table`: no attention, so everything can be worked out by hand."""
    from onnx import TensorProto, helper, numpy_helper, save

    save(
        helper.make_model(
            helper.make_graph(
                [helper.make_node("Gather", ["table", "input_ids"], [output])],
                "encoder",
                [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
                [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", "tokens", table.shape[1]])],
                [numpy_helper.from_array(table.astype(np.float32), "table")],
            ),
            opset_imports=[helper.make_opsetid("", 17)],
            ir_version=8,
        ),
        str(path),
    )


def write_cross_encoder(folder: Path, file: str, words: Sequence[str], weights: Sequence[float]) -> None:
    """FlashRank's layout; the logit is the sum of the weights of the passage's words (the second segment)."""
    from onnx import TensorProto, helper, numpy_helper, save

    folder.mkdir(parents=True)
    table = np.array([0.0] * len(SPECIAL) + list(weights), np.float32)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["each"]),
        helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["second"]),
        helper.make_node("Cast", ["second"], ["counted"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "counted"], ["weighed"]),
        helper.make_node("ReduceSum", ["weighed", "axis"], ["logits"], keepdims=1),
    ]
    save(
        helper.make_model(
            helper.make_graph(
                nodes,
                "cross",
                inputs,
                [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])],
                [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1], np.int64), "axis")],
            ),
            opset_imports=[helper.make_opsetid("", 17)],
            ir_version=8,
        ),
        str(folder / file),
    )
    write_tokenizer(folder / "tokenizer.json", words)
    for name, value in {
        "config.json": {"pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": 64, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"},
    }.items():
        (folder / name).write_text(json.dumps(value))
