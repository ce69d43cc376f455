from pathlib import Path

import pytest

from rag_pipeline_tests.served import Served


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A collection without a release."""
    return Served(tmp_path / "home", monkeypatch)
