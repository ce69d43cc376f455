"""The real exporter, on random models of two layers and on the default one."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.embedding import export
from rag_pipeline.embedding.base import Embedder
from rag_pipeline.embedding.packaged import packaged_folder
from rag_pipeline.embedding.registry import load_embedder, open_embedder, verify_model
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.settings.build import EmbeddingSettings
from rag_pipeline_tests.embedding.tiny import random_bert

pytestmark = pytest.mark.model

TEXTS = (
    "a",
    " ",
    ".",
    "pump",
    "How do I rotate the API key?",
    "E-4021: blueprint names a tool the registry does not know",
    "The quick brown fox jumps over the lazy dog.",
    "THE QUICK BROWN FOX",
    "Déjà vu, naïve façade, Ångström, straße",
    "東京大学に行く。",
    "自然言語処理とは何ですか？",
    "안녕하세요 세계",
    "Привет, мир",
    "مرحبا بالعالم",
    "🙂🚀🔥",
    "👩‍👩‍👧‍👦 family",
    "def create_agent(name: str) -> Agent:\n    return AgentFactory().create_agent(name)",
    "SELECT id, name FROM agents WHERE created > '2026-01-01' ORDER BY id;",
    "for (let i = 0; i < 10; i++) { console.log(`${i}`); }",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "# Setup\n\n## Linux\n\nRun `make`.",
    "https://example.com/a/b?c=d&e=f#g",
    "0123456789 3.14159 1e-10 0xdeadbeef",
    "C++ C# .NET F#",
    "word " * 254,
    "word " * 255,
    "word " * 600,
    "The answer stands at the end. " * 60 + "It is 42.",
    "supercalifragilisticexpialidocious" * 5,
    "\t\n  spaces \u00a0 and\u200bzero width  ",
)


def test_the_default_model_gives_the_vectors_of_sentence_transformers(minilm: Embedder) -> None:
    from sentence_transformers import SentenceTransformer

    from rag_pipeline.embedding.quiet import quiet

    with quiet():
        original = SentenceTransformer(str(packaged_folder("all-MiniLM-L6-v2")), device="cpu")
        expected = original.encode(list(TEXTS), normalize_embeddings=True, show_progress_bar=False)
    found = minilm.embed(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert (found * expected).sum(axis=1).min() >= 0.9999


def test_a_text_has_the_same_bits_in_any_company(minilm: Embedder, exported_models: Path) -> None:
    """Near-ties rank differently from build to build where a vector depends on what it was computed beside."""
    together, reversed_ = minilm.embed(TEXTS), minilm.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([minilm.embed([t]) for t in TEXTS])
    one_thread = load_embedder(EmbeddingSettings(threads=1, batch_tokens=256), exported_models).embed(TEXTS)
    for other in (reversed_, alone, one_thread):
        np.testing.assert_array_equal(together, other)


def test_text_past_the_limit_has_no_influence(minilm: Embedder) -> None:
    head = "word " * (minilm.max_tokens - 2)
    np.testing.assert_array_equal(minilm.embed([head + "the answer is 42"]), minilm.embed([head]))
    assert not np.array_equal(minilm.embed(["word " * (minilm.max_tokens - 3) + "answer"]), minilm.embed([head]))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_any_model_of_transformer_and_pooling(tmp_path: Path, pooling: str) -> None:
    model = random_bert(tmp_path / "model", pooling=pooling)
    embedder = load_embedder(EmbeddingSettings(model=str(model)), tmp_path / "models")
    assert (embedder.model, embedder.dimension, embedder.max_tokens) == (str(model), 16, 12)
    other = load_embedder(EmbeddingSettings(model=str(model), runtime="sentence-transformers"), tmp_path / "models")
    assert other.fingerprint != embedder.fingerprint
    texts = ["a cab", "", "東京 x", "dead beef " * 9, "Cab!"]
    assert (embedder.embed(texts) * other.embed(texts)).sum(axis=1).min() > 0.9999
    verify_model(tmp_path / "models" / embedder.fingerprint)
    assert sorted(p.name for p in (tmp_path / "models").iterdir()) == sorted([embedder.fingerprint, other.fingerprint])


def test_models_of_one_name_but_other_weights_or_dimension_stand_beside_each_other(tmp_path: Path) -> None:
    models = tmp_path / "models"
    made = [
        load_embedder(EmbeddingSettings(model=str(random_bert(tmp_path / where / "model", **kind))), models)
        for where, kind in (("1", {"seed": 1}), ("2", {"seed": 2}), ("3", {"seed": 1, "dimension": 24}))
    ]
    assert len({e.fingerprint for e in made}) == 3
    for embedder in made:
        again = open_embedder(models, embedder.fingerprint)
        np.testing.assert_array_equal(again.embed(["a cab"]), embedder.embed(["a cab"]))
    assert [e.dimension for e in made] == [16, 16, 24]


def test_a_model_with_a_dense_layer_runs_in_sentence_transformers_only(tmp_path: Path) -> None:
    model = str(random_bert(tmp_path / "model", dense=True))
    with pytest.raises(ModelUnavailable, match='runtime = "sentence-transformers"'):
        load_embedder(EmbeddingSettings(model=model), tmp_path / "models")
    embedder = load_embedder(EmbeddingSettings(model=model, runtime="sentence-transformers"), tmp_path / "models")
    assert embedder.dimension == 8
    again = open_embedder(tmp_path / "models", embedder.fingerprint)
    np.testing.assert_allclose(np.linalg.norm(again.embed(["a", "b"]), axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(again.embed(["a", "b"]), embedder.embed(["a", "b"]))
    assert again.embed([]).shape == (0, 8)
    (Path(model) / "model.safetensors").write_bytes(b"other")
    with pytest.raises(ModelUnavailable, match=r"weights_sha256 .*, the index was built with"):
        open_embedder(tmp_path / "models", embedder.fingerprint)


def test_prefixes_take_part_in_fingerprint_and_vectors(tmp_path: Path) -> None:
    model = str(random_bert(tmp_path / "model"))
    for runtime in ("onnxruntime", "sentence-transformers"):
        plain = load_embedder(EmbeddingSettings(model=model, runtime=runtime), tmp_path / "models")
        given = EmbeddingSettings(model=model, runtime=runtime, query_prefix="q ", document_prefix="d ")
        prefixed = load_embedder(given, tmp_path / "models")
        assert prefixed.fingerprint != plain.fingerprint
        assert (prefixed.query_prefix, prefixed.max_tokens) == ("q ", 11)
        np.testing.assert_allclose(prefixed.embed(["cab"], "query"), plain.embed(["q cab"]), atol=1e-6)
        np.testing.assert_allclose(prefixed.embed(["cab"]), plain.embed(["d cab"]), atol=1e-6)


def test_int8_is_another_model_and_a_text_keeps_its_bits_in_any_batch(tmp_path: Path) -> None:
    """Its activations share a scale over a whole run, so a neighbour would change a text's numbers."""
    model = str(random_bert(tmp_path / "model", dimension=64))
    plain = load_embedder(EmbeddingSettings(model=model), tmp_path / "models")
    made = load_embedder(EmbeddingSettings(model=model, precision="int8"), tmp_path / "models")
    assert (made.runtime, made.fingerprint != plain.fingerprint) == ("onnxruntime-int8", True)
    texts = ["a cab", "", "dead beef " * 9, "b cat", "z cat", "Cab!"]
    together = made.embed(texts)
    assert 0.97 < (together * plain.embed(texts)).sum(axis=1).min() < 1
    again = open_embedder(tmp_path / "models", made.fingerprint)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(vector, again.embed([text])[0])


def test_vectors_that_differ_from_the_originals_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exporter or a tokenizer that goes wrong quietly must not become an index; nothing is left behind."""
    model = random_bert(tmp_path / "model")
    monkeypatch.setitem(export.LEAST_COSINE, "fp32", 1.1)
    with pytest.raises(ModelUnavailable, match=r"has cosine .* with the original's"):
        load_embedder(EmbeddingSettings(model=str(model)), tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def _load(model: str, models: Path) -> None:
    load_embedder(EmbeddingSettings(model=model), models)


def test_two_processes_may_export_at_once(tmp_path: Path) -> None:
    model = str(random_bert(tmp_path / "model"))
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_load, args=(model, tmp_path / "models")) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    (folder,) = (tmp_path / "models").iterdir()
    verify_model(folder)
