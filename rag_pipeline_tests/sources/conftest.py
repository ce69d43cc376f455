from pathlib import Path

import pytest

from rag_pipeline_tests.sources.corpus import Corpus


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)
