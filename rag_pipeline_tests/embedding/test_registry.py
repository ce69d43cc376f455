import logging
from pathlib import Path

import pytest

from rag_pipeline.embedding.base import Embedder, describe_embedder
from rag_pipeline.embedding.registry import load_embedder, open_embedder, verify_model
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.settings.build import EmbeddingSettings
from rag_pipeline_tests.embedding.tiny import exported_table, write_description

MODULES = [{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]
FILES = {
    "modules.json": MODULES,
    "config.json": {"hidden_size": 3, "max_position_embeddings": 8},
    "1_Pooling/config.json": {"pooling_mode": "mean"},
}


def test_opens_what_a_build_left(tmp_path: Path) -> None:
    exported = exported_table(tmp_path)
    embedder = open_embedder(tmp_path, exported.fingerprint)
    assert describe_embedder(embedder) == {
        "fingerprint": exported.fingerprint,
        "model": "table",
        "runtime": "onnxruntime",
        "dimension": 3,
        "max_tokens": 8,
        "query_prefix": "",
    }
    verify_model(exported.folder)


def test_an_absent_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="feedfeedfeedfeed"):
        open_embedder(tmp_path, "feedfeedfeedfeed")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"modules.json": [*MODULES, {"path": "2_Dense", "type": "x.Dense"}]},
            r'modules Transformer, Pooling, Dense.*runtime = "sentence-transformers"',
        ),
        ({"1_Pooling/config.json": {"pooling_mode": "lasttoken"}}, r'lasttoken.*runtime = "sentence-transformers"'),
        ({"config.json": {"hidden_size": 3}}, r'state no limit.*runtime = "sentence-transformers"'),
        ({"config.json": {"max_position_embeddings": 8}}, r'state no dimension.*runtime = "sentence-transformers"'),
    ],
)
def test_what_onnxruntime_can_not_run_is_refused_before_torch_is_loaded(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    model = write_description(tmp_path / "model", FILES | changes)
    with pytest.raises(ModelUnavailable, match=message):
        load_embedder(EmbeddingSettings(model=str(model)), tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_a_prompt_of_the_model_that_is_not_set_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = {"prompts": {"query": "query: "}}
    files = FILES | {"config_sentence_transformers.json": own, "1_Pooling/config.json": {"pooling_mode": "max"}}
    model = write_description(tmp_path / "model", files)
    for prefix, warned in (("", True), ("query: ", False)):
        caplog.clear()
        with caplog.at_level(logging.WARNING), pytest.raises(ModelUnavailable):
            load_embedder(EmbeddingSettings(model=str(model), query_prefix=prefix), tmp_path / "models")
        assert ("query prefix 'query: '" in caplog.text) is warned


@pytest.mark.model
def test_the_default_model(minilm: Embedder, exported_models: Path) -> None:
    """Its limit is 256 word pieces, whatever its tokenizer's files say."""
    assert (minilm.model, minilm.dimension, minilm.max_tokens) == ("all-MiniLM-L6-v2", 384, 256)
    assert describe_embedder(open_embedder(exported_models, minilm.fingerprint)) == describe_embedder(minilm)
    verify_model(exported_models / minilm.fingerprint)


@pytest.mark.model
def test_settings_that_change_vectors_change_the_fingerprint(exported_models: Path, minilm: Embedder) -> None:
    changed = load_embedder(EmbeddingSettings(threads=1, batch_tokens=256), exported_models)
    assert changed.fingerprint == minilm.fingerprint
