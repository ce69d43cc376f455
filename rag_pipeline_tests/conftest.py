"""What every test stands on: no network, no settings from the outside, versions in the header, one exported model."""

import hashlib
import os
from importlib.metadata import version
from pathlib import Path

import hypothesis
import pytest

import rag_pipeline
from rag_pipeline.embedding.base import Embedder

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["DO_NOT_TRACK"] = "1"
for _name in (
    "RAG_PIPELINE_HOME",
    "RAG_PIPELINE_CONFIG",
    "RAG_PIPELINE_ALERT_WEBHOOK",
    "DAGSTER_HOME",
    "MLFLOW_TRACKING_URI",
):
    os.environ.pop(_name, None)

# Loaded machines must not fail a property for being slow.
hypothesis.settings.register_profile("rag_pipeline", deadline=None)
hypothesis.settings.load_profile("rag_pipeline")


def pytest_report_header() -> str:
    return ", ".join(f"{name} {version(name)}" for name in ("duckdb", "onnxruntime", "tokenizers"))


@pytest.fixture(scope="session")
def exported_models(request: pytest.FixtureRequest) -> Path:
    """A models folder that holds the default model.

    Kept between sessions under pytest's cache, because torch takes long to import; other export code, other folder.
    """
    from rag_pipeline.embedding.registry import load_embedder
    from rag_pipeline.settings.build import EmbeddingSettings

    embedding = Path(rag_pipeline.__file__).parent / "embedding"
    code = b"".join(path.read_bytes() for path in sorted(embedding.glob("*export.py")))
    models = request.config.cache.mkdir(f"models-{hashlib.sha256(code).hexdigest()[:12]}")
    load_embedder(EmbeddingSettings(), models)
    return models


@pytest.fixture(scope="session")
def embedding_cache(request: pytest.FixtureRequest, exported_models: Path) -> Path:
    """Vectors of earlier sessions, by content and model: a corpus that was embedded once is not embedded again."""
    return Path(request.config.cache.mkdir(f"{exported_models.name}-embeddings"))


@pytest.fixture(scope="session")
def minilm(exported_models: Path) -> Embedder:
    """The real default model; for tests marked `model`."""
    from rag_pipeline.embedding.registry import load_embedder
    from rag_pipeline.settings.build import EmbeddingSettings

    return load_embedder(EmbeddingSettings(), exported_models)
