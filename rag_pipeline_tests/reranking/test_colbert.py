"""A late-interaction model of random weights, saved by the library in its own folder layout."""

import json
from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.colbert import ColbertReranker, check_colbert
from rag_pipeline.reranking.registry import RerankerOptions, open_reranker
from rag_pipeline_tests.embedding.tiny import random_bert

PASSAGES = [Passage("a", "dead beef"), Passage("b", "cab"), Passage("c", "b a c"), Passage("e", " ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transformer, a projection from 16 to 8 a token, unit length, the mask for scoring."""
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.base.modules.dense import Dense
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    from rag_pipeline.embedding.quiet import quiet

    made = tmp_path_factory.mktemp("colbert") / "model"
    random_bert(made.with_name("backbone"))
    names = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
    with quiet():
        torch.manual_seed(3)
        modules = [
            Transformer(str(made.with_name("backbone-bare")), processor_kwargs={"model_max_length": 32}),
            Dense(in_features=16, out_features=8, bias=False, activation_function=torch.nn.Identity(), **names),
            Normalize(**names),
            MultiVectorMask(),
        ]
        MultiVectorEncoder(modules=modules, device="cpu", prompts={"query": "q: ", "document": "d: "}).save(
            str(made), create_model_card=False
        )
    return made


@pytest.mark.model
def test_scores_are_those_of_the_librarys_own_maxsim(folder: Path) -> None:
    from sentence_transformers import MultiVectorEncoder

    from rag_pipeline.embedding.quiet import quiet

    reranker = open_reranker("colbert", RerankerOptions(models=folder.parent, model=str(folder)))
    found = dict(reranker.rerank("a cab", PASSAGES))
    with quiet():
        own = MultiVectorEncoder(str(folder), device="cpu", local_files_only=True, similarity_fn_name="meanmaxsim")
        texts = [p.text for p in PASSAGES[:3]]
        expected = own.similarity(
            own.encode_query(["a cab"], show_progress_bar=False), own.encode_document(texts, show_progress_bar=False)
        )
    assert found.keys() == {"a", "b", "c"}, "a passage without text has no score"
    np.testing.assert_allclose([found[p.id] for p in PASSAGES[:3]], expected[0].numpy(), atol=1e-5)


@pytest.mark.model
def test_order_and_company_do_not_matter_and_the_name_says_which_weights(folder: Path, tmp_path: Path) -> None:
    reranker = ColbertReranker(folder)
    together = reranker.rerank("a cab", PASSAGES)
    assert reranker.rerank("a cab", PASSAGES[::-1]) == together
    for passage in PASSAGES[:3]:
        assert reranker.rerank("a cab", [passage]) == ((passage.id, dict(together)[passage.id]),)
    assert reranker.rerank("a cab", PASSAGES, top_k=1) == together[:1]
    assert reranker.rerank(" ", PASSAGES) == reranker.rerank("a cab", []) == ()
    kind, name, weights, window = reranker.name.split(":")
    assert (kind, name, len(weights), window) == ("colbert", "model", 12, "128")


@pytest.mark.model
def test_a_long_passage_is_read_where_the_query_is(folder: Path) -> None:
    reranker = ColbertReranker(folder, window=16)
    assert reranker._shown(reranker._ids("zz")[0], "b " * 50 + "zz " + "b " * 50).strip("b ") == "zz"
    assert reranker._shown(reranker._ids("zz")[0], "short") == "short"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "says model_type None"),
        ({"config_sentence_transformers.json": {"model_type": "SentenceTransformer"}}, "'SentenceTransformer'"),
        ({"config.json": {"architectures": ["BertModel"]}}, "has not the architecture HF_ColBERT"),
        ({"config.json": b"{"}, "not readable as JSON"),
    ],
)
def test_a_folder_of_another_kind_is_refused(tmp_path: Path, files: dict[str, object], message: str) -> None:
    """The library would load it, with a projection of random numbers in front of every score."""
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(ModelUnavailable, match=message):
        ColbertReranker(tmp_path)


def test_what_says_that_it_is_one_is_taken(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="is no folder"):
        check_colbert(tmp_path / "absent")
    (tmp_path / "config.json").write_text('{"architectures": ["HF_ColBERT"]}')
    check_colbert(tmp_path)
    (tmp_path / "config.json").unlink()
    (tmp_path / "config_sentence_transformers.json").write_text('{"model_type": "ColBERT"}')
    check_colbert(tmp_path)


@pytest.mark.model
def test_one_that_is_not_complete_is_told(folder: Path, tmp_path: Path) -> None:
    for file in ("config_sentence_transformers.json", "modules.json"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    with pytest.raises(ModelUnavailable, match=r"can't be loaded .*complete or fetch"):
        ColbertReranker(tmp_path)
