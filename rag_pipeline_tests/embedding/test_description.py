from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.embedding.description import describe_model
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline_tests.embedding.tiny import write_description

MODULES = [
    {"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]
CONFIG = {"hidden_size": 384, "max_position_embeddings": 512}


def files(**changes: Any) -> dict[str, Any]:
    return {
        "modules.json": MODULES,
        "config.json": CONFIG,
        "1_Pooling/config.json": {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": 256},
        "tokenizer_config.json": {"model_max_length": 512},
        **changes,
    }


def test_reads_the_older_layout(tmp_path: Path) -> None:
    found = describe_model(write_description(tmp_path, files()))
    assert found.modules == ("Transformer", "Pooling", "Normalize")
    assert (found.pooling, found.dimension) == ("mean", 384)


def test_the_limit_is_the_models_own_not_the_tokenizers(tmp_path: Path) -> None:
    """all-MiniLM-L6-v2 reads 256 word pieces although its tokenizer and positions say 512."""
    assert describe_model(write_description(tmp_path, files())).max_tokens == 256


@pytest.mark.parametrize(
    ("tokenizer", "positions", "expected"), [(512, 514, 512), (10**30, 512, 512), (None, None, None), (128, 512, 128)]
)
def test_without_a_limit_of_its_own_the_smallest_stated_one_holds(
    tmp_path: Path, tokenizer: int | None, positions: int | None, expected: int | None
) -> None:
    changes: dict[str, Any] = {
        "sentence_bert_config.json": {"do_lower_case": False},
        "tokenizer_config.json": {"model_max_length": tokenizer} if tokenizer else {},
        "config.json": {"hidden_size": 8, **({"max_position_embeddings": positions} if positions else {})},
    }
    assert describe_model(write_description(tmp_path, files(**changes))).max_tokens == expected


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": ["mean", "max"]}, "mean+max"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True, "pooling_mode_max_tokens": True}, "lasttoken+max"),
        ({}, "mean"),
    ],
)
def test_pooling(tmp_path: Path, config: dict[str, Any], pooling: str) -> None:
    assert describe_model(write_description(tmp_path, files(**{"1_Pooling/config.json": config}))).pooling == pooling


def test_a_plain_transformer_is_pooled_by_the_mean(tmp_path: Path) -> None:
    found = describe_model(write_description(tmp_path, {"config.json": CONFIG}))
    assert (found.modules, found.pooling, found.dimension) == (("Transformer", "Pooling"), "mean", 384)


def test_two_models_of_one_name_differ_by_their_weights(tmp_path: Path) -> None:
    """Offline, two local models can both call themselves revision `main`: only the content tells them apart."""
    one = describe_model(write_description(tmp_path / "1" / "model", files(**{"model.safetensors": b"one"})))
    two = describe_model(write_description(tmp_path / "2" / "model", files(**{"model.safetensors": b"two"})))
    assert one.weights_sha256 != two.weights_sha256
    assert (one.tokenizer_sha256, one.config_sha256) == (two.tokenizer_sha256, two.config_sha256)


def test_equal_weights_under_another_configuration_are_another_model(tmp_path: Path) -> None:
    plain = describe_model(write_description(tmp_path / "1", files()))
    other = describe_model(write_description(tmp_path / "2", files(**{"config.json": CONFIG | {"hidden_act": "relu"}})))
    saved = describe_model(
        write_description(tmp_path / "3", files(**{"config.json": CONFIG | {"transformers_version": "9"}}))
    )
    assert other.config_sha256 != plain.config_sha256
    assert saved.config_sha256 == plain.config_sha256


def test_weights_of_later_modules_count(tmp_path: Path) -> None:
    dense = [*MODULES, {"path": "3_Dense", "type": "sentence_transformers.models.Dense"}]
    one = describe_model(
        write_description(tmp_path / "1", files(**{"modules.json": dense, "3_Dense/model.safetensors": b"1"}))
    )
    two = describe_model(
        write_description(tmp_path / "2", files(**{"modules.json": dense, "3_Dense/model.safetensors": b"2"}))
    )
    assert one.modules[-1] == "Dense"
    assert one.weights_sha256 != two.weights_sha256


def test_prompts_are_reported_without_the_empty_ones(tmp_path: Path) -> None:
    own = {"prompts": {"query": "query: ", "document": ""}}
    found = describe_model(write_description(tmp_path, files(**{"config_sentence_transformers.json": own})))
    assert found.prompts == {"query": "query: "}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"modules.json": None, "config.json": None}, "holds no sentence-transformers model"),
        ({"model.safetensors": None}, "holds no weights"),
        ({"tokenizer.json": None}, "holds no tokenizer"),
        ({"config.json": b"{"}, "not readable as JSON"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelUnavailable, match=message):
        describe_model(write_description(tmp_path, files(**changes)))
