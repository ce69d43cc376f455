"""Real corpora: every input is accounted for."""

import os
from pathlib import Path

import pytest

from rag_pipeline.paths import CollectionPaths
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.sources.checks import ledger_reconciles, no_failed_inputs
from rag_pipeline.sources.snapshot import take_snapshot

DEFAULT = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "documents", "filtered"),
    [
        ("docs-kubeflow", 190, 0),
        ("docs-fastapi", 278, 0),
        ("docs-mkdocs-material", 90, 0),
        ("kubernetes-qa/corpus", 400, 0),
        ("chunking-eval", 5, 0),
        ("product-docs-qa", 232, 0),
        ("cranfield", 1398, 2),
        ("scifact", 5183, 0),
    ],
)
def test_nothing_is_lost(name: str, documents: int, filtered: int, tmp_path: Path) -> None:
    folder = Path(os.environ.get("RAG_PIPELINE_SHARED", DEFAULT)) / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent; set RAG_PIPELINE_SHARED")
    collection = CollectionSettings.model_validate({"sources": [{"path": str(folder)}]})
    info = take_snapshot(collection, CollectionPaths(tmp_path))
    assert (info.counts["indexed"], info.counts.get("filtered", 0)) == (documents, filtered)
    assert ledger_reconciles(info.folder).passed
    assert no_failed_inputs(info.folder).passed
