import os
from pathlib import Path

import pytest

from rag_pipeline.paths import CollectionPaths


@pytest.fixture
def paths(tmp_path: Path) -> CollectionPaths:
    return CollectionPaths(tmp_path / "home" / "wiki")


@pytest.fixture(autouse=True)
def _no_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of writes is tested elsewhere; waiting for the disk here would only make hundreds of them slow."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
