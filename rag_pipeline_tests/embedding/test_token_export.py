import json
import logging
from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.embedding import token_export
from rag_pipeline.embedding.exported import read_exported
from rag_pipeline.embedding.onnx_runtime import OnnxEncoder
from rag_pipeline.embedding.registry import load_embedder, open_embedder, verify_model
from rag_pipeline.settings.build import EmbeddingSettings
from rag_pipeline_tests.embedding.tiny import random_bert


@pytest.mark.parametrize(("layers", "stop"), [(1, 1), (2, 1), (3, 2), (6, 4), (12, 8), (24, 16)])
def test_two_thirds_of_the_layers(layers: int, stop: int) -> None:
    assert token_export.depth(layers) == stop


@pytest.mark.model
def test_the_states_of_a_middle_layer(tmp_path: Path) -> None:
    """Against the model's own, of which the last layer's are others."""
    import torch

    from rag_pipeline.embedding.torch_export import load_model

    source = random_bert(tmp_path / "model", dimension=64)
    embedder = load_embedder(EmbeddingSettings(model=str(source)), tmp_path / "models")
    folder = tmp_path / "models" / embedder.fingerprint
    assert read_exported(folder.parent, folder.name).files.keys() == {"model.onnx", "tokenizer.json", "tokens.onnx"}
    assert (folder / "tokens.onnx").stat().st_size < (folder / "model.onnx").stat().st_size / 2
    ids = np.array([[2, 5, 9, 14, 3]], np.int64)
    with torch.no_grad():
        own = load_model(source)[0].auto_model(torch.tensor(ids), output_hidden_states=True, return_dict=True)
    found = OnnxEncoder(folder / "tokens.onnx", precision="int8").alone(ids)[0]
    first, last = (own.hidden_states[layer][0].numpy() for layer in (1, 2))
    assert np.abs(found - first).mean() < 0.5 * np.abs(found - last).mean()


@pytest.mark.model
def test_a_folder_of_an_earlier_version_is_completed(tmp_path: Path) -> None:
    settings = EmbeddingSettings(model=str(random_bert(tmp_path / "model")))
    embedder = load_embedder(settings, tmp_path / "models")
    folder = tmp_path / "models" / embedder.fingerprint
    complete = (folder / "tokens.onnx").read_bytes()
    (folder / "tokens.onnx").unlink()
    card = json.loads((folder / "embedder.json").read_text())
    del card["files"]["tokens.onnx"]
    (folder / "embedder.json").write_text(json.dumps(card))
    open_embedder(tmp_path / "models", embedder.fingerprint)
    assert not (folder / "tokens.onnx").exists(), "a reader changes nothing"
    again = load_embedder(settings, tmp_path / "models")
    assert again.fingerprint == embedder.fingerprint
    assert (folder / "tokens.onnx").read_bytes() == complete
    verify_model(folder)


@pytest.mark.model
def test_a_model_that_has_no_such_form_embeds_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(token_export, "LEAST_COSINE", 1.1)
    settings = EmbeddingSettings(model=str(random_bert(tmp_path / "model")))
    with caplog.at_level(logging.WARNING):
        embedder = load_embedder(settings, tmp_path / "models")
    assert "no tokens.onnx" in caplog.text
    folder = tmp_path / "models" / embedder.fingerprint
    assert sorted(path.name for path in folder.iterdir()) == ["embedder.json", "model.onnx", "tokenizer.json"]
    verify_model(folder)
