from pathlib import Path

import pytest

from rag_pipeline.embedding import openvino_runtime
from rag_pipeline.embedding.base import Embedder
from rag_pipeline.embedding.exported import write_card
from rag_pipeline.errors import MissingExtra, ModelUnavailable, UnknownName
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.registry import RerankerOptions, open_reranker
from rag_pipeline.reranking.token_model import open_token_model
from rag_pipeline_tests.embedding.tiny import exported_table, identity

PASSAGES = (Passage("a", "north far"), Passage("b", "east"), Passage("c", "far"))


def test_full_precision_reads_the_model_itself(tmp_path: Path) -> None:
    exported = exported_table(tmp_path)
    options = RerankerOptions(models=tmp_path, fingerprint=exported.fingerprint)
    assert dict(open_reranker("maxsim", options).rerank("east", PASSAGES)) == {"a": 0.600098, "b": 1.0, "c": 0.600098}


def test_a_folder_without_the_small_form_says_how_it_comes(tmp_path: Path) -> None:
    exported = exported_table(tmp_path)
    with pytest.raises(ModelUnavailable, match=r"holds no tokens\.onnx.*a reindex adds the file"):
        open_token_model(tmp_path, exported.fingerprint, precision="int8")


def test_a_model_that_was_not_exported_gives_none(tmp_path: Path) -> None:
    exported = exported_table(tmp_path, runtime="sentence-transformers")
    write_card(
        exported.folder, model="m", identity=identity(runtime="sentence-transformers"), files=("tokenizer.json",)
    )
    with pytest.raises(ModelUnavailable, match=r"holds no model\.onnx.*sentence-transformers"):
        open_token_model(tmp_path, exported.fingerprint)


def test_an_unknown_precision_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"fp32"):
        open_token_model(tmp_path, "x", precision="fp64")


def test_bf16_where_the_processor_lacks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openvino", reason="needs the [openvino] extra")
    exported = exported_table(tmp_path)
    monkeypatch.setattr(openvino_runtime, "capabilities", lambda: ["FP32"])
    with pytest.raises(ModelUnavailable, match="does not compute in bf16"):
        open_token_model(tmp_path, exported.fingerprint, precision="bf16")


@pytest.mark.model
def test_every_precision_agrees_on_what_is_near(minilm: Embedder, exported_models: Path) -> None:
    passages = (
        Passage("keys", "API keys are rotated every ninety days; the old key stays valid for one day."),
        Passage("soup", "Cook the lentils with onions until they are soft."),
        Passage("pods", "A Pod is the smallest deployable unit."),
    )
    names = set()
    for precision in ("fp32", "bf16", "int8"):
        if precision == "bf16" and not _bf16():
            continue
        options = RerankerOptions(models=exported_models, fingerprint=minilm.fingerprint, precision=precision)
        reranker = open_reranker("maxsim", options)
        names.add(reranker.name)
        first = reranker.rerank("How often must I change my key?", passages)
        assert first[0][0] == "keys"
        assert reranker.rerank("How often must I change my key?", passages[::-1]) == first, "also from its memory"
    assert len(names) == 2 + _bf16()


def _bf16() -> bool:
    try:
        return "BF16" in openvino_runtime.capabilities()
    except MissingExtra:
        return False
