import json
from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.index import checks
from rag_pipeline.index.build import BuildInfo
from rag_pipeline.index.checks import Candidate
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.stages import build


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    np.save(tmp_path / "vectors.npy", WordEmbedder().embed(["a", "b"]))
    (tmp_path / "vectors.json").write_text(json.dumps({"chunks": 2, "rejected": 0, "dimension": 64}))
    return tmp_path


def test_sound_vectors(vectors: Path) -> None:
    result = checks.every_chunk_has_a_sound_vector(vectors)
    assert result.passed
    assert result.numbers == {"chunks": 2, "vectors": 2, "rejected": 0, "unsound": 0, "dimension": 64}


def test_a_nan_and_a_rejected_chunk(vectors: Path) -> None:
    array = np.load(vectors / "vectors.npy")
    array[1, 0] = np.nan
    np.save(vectors / "vectors.npy", array)
    assert not checks.every_chunk_has_a_sound_vector(vectors).passed
    np.save(vectors / "vectors.npy", array[:1])
    (vectors / "vectors.json").write_text(json.dumps({"chunks": 2, "rejected": 1, "dimension": 64}))
    assert not checks.every_chunk_has_a_sound_vector(vectors).passed


def test_an_empty_build_passes_only_where_it_is_allowed(tmp_path: Path, pump_build: BuildInfo) -> None:
    empty = build(tmp_path, []).folder
    assert not checks.index_is_not_empty(Candidate(empty)).passed
    assert checks.index_is_not_empty(Candidate(empty, allow_empty=True)).passed
    assert checks.index_is_not_empty(Candidate(pump_build.folder)).passed


def test_build_verifies(copied_build: Path) -> None:
    assert checks.build_verifies(Candidate(copied_build)).passed
    (copied_build / "layout.npy").write_bytes(b"")
    result = checks.build_verifies(Candidate(copied_build))
    assert not result.passed
    assert "layout.npy" in result.message


def test_recall_and_sizes(pump_build: BuildInfo) -> None:
    assert checks.ann_recall_at_10(Candidate(pump_build.folder)).passed
    sizes = checks.file_sizes(pump_build.folder)
    assert next(iter(sizes)) == "index.duckdb"
    assert sizes["vectors.npy"] == 128 + 8 * 64 * 4
