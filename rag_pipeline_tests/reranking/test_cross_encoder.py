import sys
from pathlib import Path

import pytest

from rag_pipeline.errors import MissingExtra, ModelUnavailable
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.cross_encoder import CrossEncoderReranker
from rag_pipeline_tests.reranking.tiny_models import write_tokenizer

WORDS = ("pump", "valve", "oil")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"\[build\]"):
        CrossEncoderReranker("x")


@pytest.mark.model
def test_a_folder_and_a_folder_that_is_none(tmp_path: Path) -> None:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=4 + len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(tmp_path / "model")
    write_tokenizer(tmp_path / "tokenizer.json", WORDS)
    PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=32,
    ).save_pretrained(tmp_path / "model")
    reranker = CrossEncoderReranker(str(tmp_path / "model"))
    passages = [Passage("a", "oil"), Passage("b", "valve valve"), Passage("c", "pump oil")]
    ranked = reranker.rerank("pump", passages)
    assert sorted(i for i, _ in ranked) == ["a", "b", "c"]
    assert len({score for _, score in ranked}) == 3
    assert [type(score) for _, score in ranked] == [float] * 3
    assert reranker.rerank("pump", list(reversed(passages))) == ranked
    assert reranker.rerank("pump", []) == ()
    with pytest.raises(ModelUnavailable, match="folder"):
        CrossEncoderReranker(str(tmp_path / "absent"))
