import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_pipeline.embedding import openvino_runtime
from rag_pipeline.embedding.openvino_int8 import quantise_weights, quantised
from rag_pipeline.embedding.openvino_runtime import OpenVinoEmbedder
from rag_pipeline.embedding.registry import load_embedder, open_embedder
from rag_pipeline.errors import MissingExtra, ModelUnavailable
from rag_pipeline.settings.build import EmbeddingSettings
from rag_pipeline_tests.embedding.tiny import WORDS, exported_table, random_bert

if not find_spec("openvino"):  # importing it here would report to its vendor
    pytest.skip("needs the [openvino] extra", allow_module_level=True)


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> OpenVinoEmbedder:
    return OpenVinoEmbedder(exported_table(tmp_path_factory.mktemp("models"), runtime="openvino"), threads=2)


@pytest.mark.parametrize(
    ("text", "vector"), [("east", (1, 0, 0)), ("far", (0.6, 0.8, 0)), ("east east far", (5 / 41**0.5, 4 / 41**0.5, 0))]
)
def test_mean_pooling_to_unit_length(embedder: OpenVinoEmbedder, text: str, vector: tuple[float, ...]) -> None:
    alone, paired = embedder.embed([text]), embedder.embed([text, "north"])
    assert alone.dtype == np.float32
    np.testing.assert_allclose(alone[0], vector, atol=1e-6)
    np.testing.assert_array_equal(alone[0], paired[0])


@given(st.lists(st.lists(st.sampled_from([*WORDS, "?"]), max_size=12).map(" ".join), max_size=12))
def test_a_text_has_the_same_bits_in_any_company(embedder: OpenVinoEmbedder, texts: list[str]) -> None:
    together = embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(vector, embedder.embed([text])[0])


def test_threads_may_share_it_and_results_stay(embedder: OpenVinoEmbedder) -> None:
    """A request's memory is used again by the next run: what was handed out must be a copy."""
    texts = ["east", "north", "far", "east far", "north far far"] * 8
    expected = embedder.embed(texts).copy()
    kept = [embedder.embed([text])[0] for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(embedder.embed, [texts] * 16):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.stack(kept), expected)


def test_what_the_package_makes_at_its_first_use_is_made_before_threads_meet_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The real package's first `Tensor.data` never returns where two threads come to it at once."""
    inside = threading.Lock()
    made: list[int] = []

    class Tensor:
        def __init__(self, array: object) -> None: ...

        @property
        def data(self) -> None:
            assert inside.acquire(blocking=False), "two threads at their first use at once"
            time.sleep(0.01)
            made.append(1)
            inside.release()

    monkeypatch.setitem(sys.modules, "openvino", cast("ModuleType", SimpleNamespace(Tensor=Tensor)))
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: openvino_runtime.openvino() and made, range(8)))


def test_runtime_and_precision_are_another_model(tmp_path: Path) -> None:
    names = {
        open_embedder(tmp_path, exported_table(tmp_path, runtime=runtime, precision=precision).fingerprint).runtime
        for runtime, precision in (("onnxruntime", "fp32"), ("openvino", "fp32"), ("openvino", "bf16"))
        if precision != "bf16" or "BF16" in openvino_runtime.capabilities()
    }
    assert {"onnxruntime", "openvino"} <= names <= {"onnxruntime", "openvino", "openvino-bf16"}
    assert len(list(tmp_path.iterdir())) == 2 + ("openvino-bf16" in names)


def test_a_processor_without_bf16_is_told_before_anything_is_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = exported_table(tmp_path, runtime="openvino", precision="bf16")
    monkeypatch.setattr(openvino_runtime, "capabilities", lambda: ["FP32", "INT8"])
    with pytest.raises(ModelUnavailable, match=r'does not compute in bf16.*precision = "fp32"'):
        open_embedder(tmp_path, exported.fingerprint)
    with pytest.raises(ModelUnavailable, match="does not compute in bf16"):
        load_embedder(EmbeddingSettings(runtime="openvino", precision="bf16"), tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported = exported_table(tmp_path, runtime="openvino")
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingExtra, match=r"rag-pipeline\[openvino\]"):
        open_embedder(tmp_path, exported.fingerprint)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    exported = exported_table(tmp_path, runtime="openvino")
    (exported.folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelUnavailable, match="can't be run in fp32 by OpenVINO"):
        OpenVinoEmbedder(exported)


def test_weights_in_eight_bits_by_hand() -> None:
    numbers, scale = quantised(np.array([[1.27, -0.5, 0.004], [0, 0, 0], [-254, 2, 1]], np.float32))
    assert numbers.tolist() == [[127, -50, 0], [0, 0, 0], [-127, 1, 0]]
    np.testing.assert_allclose(scale, [[0.01], [1], [2]], rtol=1e-6)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20))
@example([5.521115949439779e-43])
def test_no_weight_is_off_by_more_than_half_a_step(row: list[float]) -> None:
    weights = np.array([row], np.float32)
    numbers, scale = quantised(weights)
    assert np.abs(numbers * scale - weights).max() <= scale.max() * 0.501


def test_a_graph_keeps_its_meaning_in_int8() -> None:
    openvino = openvino_runtime.openvino()
    ops = openvino.opset13

    rng = np.random.default_rng(0)
    given_ = ops.parameter([-1, 128], np.float32)
    wide = ops.matmul(given_, ops.constant(rng.normal(size=(128, 160)).astype(np.float32)), False, False)
    narrow = ops.matmul(wide, ops.constant(rng.normal(size=(96, 160)).astype(np.float32)), False, True)
    small = ops.matmul(narrow, ops.constant(rng.normal(size=(96, 4)).astype(np.float32)), False, False)
    model = openvino.Model([small], [given_], "two large, one small")
    core, rows = openvino.Core(), rng.normal(size=(5, 128)).astype(np.float32)
    before = core.compile_model(model, "CPU")(rows)[0]
    assert quantise_weights(model) == 2
    after = core.compile_model(model, "CPU")(rows)[0]
    assert not np.array_equal(before, after)
    np.testing.assert_allclose(after, before, atol=np.abs(before).max() * 0.03)


@pytest.mark.model
@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_any_exported_model_and_the_same_bits_in_any_batch(tmp_path: Path, precision: str) -> None:
    if precision == "bf16" and "BF16" not in openvino_runtime.capabilities():
        pytest.skip("this processor does not compute in bf16")
    model = str(random_bert(tmp_path / "model", dimension=64))
    plain = load_embedder(EmbeddingSettings(model=model), tmp_path / "models")
    settings = EmbeddingSettings(model=model, runtime="openvino", precision=precision)
    made = load_embedder(settings, tmp_path / "models")
    assert made.fingerprint != plain.fingerprint
    texts = ["a cab", "", "東京 x", "dead beef " * 9, "Cab!", "a cat", "b cat"]
    together = made.embed(texts)
    assert (together * plain.embed(texts)).sum(axis=1).min() > 0.995
    again = open_embedder(tmp_path / "models", made.fingerprint)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(vector, made.embed([text])[0])
        np.testing.assert_array_equal(vector, again.embed([text], "query")[0])


def test_importing_it_reports_to_nobody(tmp_path: Path) -> None:
    """The vendor's package leaves an id in ~/intel and sends an event with every import."""
    code = "from rag_pipeline.embedding.openvino_runtime import capabilities; print(capabilities())"
    environ = {**os.environ, "HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=True)
    assert "FP32" in ran.stdout
    assert not (tmp_path / "intel").exists()
