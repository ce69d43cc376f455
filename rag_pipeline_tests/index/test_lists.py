import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.index.ann_check import ann_recall
from rag_pipeline.index.dense import OnDisk
from rag_pipeline.index.lists import Lists, make_lists, probes_needed
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.index.verify import verify_build
from rag_pipeline.retrieval.dense import nearest
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline_tests.index.test_verify import resign
from rag_pipeline_tests.stages import build, document

ROWS = 600


def clustered(rows: int = ROWS, *, clusters: int = 12, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(clusters, 64))
    vectors = centres[random.integers(0, clusters, rows)] + random.normal(size=(rows, 64)) * 0.4
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build whose vectors lie in the order of their lists; not to be changed."""
    paragraphs = [f"paragraph number {n}" for n in range(ROWS)]
    settings = IndexSettings(lists_from=100)
    folder = tmp_path_factory.mktemp("lists")
    return build(folder, [document("a.md", *paragraphs)], vectors=clustered(), settings=settings).folder


@pytest.fixture
def index(grouped: Path) -> Iterator[Index]:
    opened = open_build(grouped)
    yield opened
    opened.close()


def test_every_row_is_in_the_list_of_its_nearest_centroid() -> None:
    vectors = clustered()
    lists = make_lists(vectors, lists=9)
    assert lists.rows[lists.positions].tolist() == list(range(ROWS))
    assert np.allclose(np.linalg.norm(lists.centroids, axis=1), 1, atol=1e-5)
    nearest_centroid = (vectors @ lists.centroids.T).argmax(axis=1)
    for number in range(9):
        held = lists.rows[lists.indptr[number] : lists.indptr[number + 1]]
        assert set(nearest_centroid[held]) <= {number}


def test_the_same_vectors_give_the_same_lists() -> None:
    one, two = make_lists(clustered()), make_lists(clustered())
    assert (one.rows == two.rows).all() and (one.centroids == two.centroids).all()
    assert len(one.centroids) == round(1.5 * ROWS**0.5)


SCRIPT = """
import hashlib, numpy as np
from rag_pipeline.index.lists import make_lists, probes_needed
from rag_pipeline_tests.index.test_lists import clustered
vectors = clustered(9001, clusters=40)
lists = make_lists(vectors, lists=101)
parts = (lists.centroids, lists.rows, lists.indptr)
print(hashlib.sha256(b"".join(p.tobytes() for p in parts)).hexdigest(), probes_needed(vectors, lists))
"""


def test_the_number_of_threads_changes_nothing() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "3")
    }
    assert len(said) == 1


def test_vectors_on_disk_give_the_same_lists(tmp_path: Path) -> None:
    vectors = clustered()
    np.save(tmp_path / "v.npy", vectors)
    one, two = make_lists(vectors), make_lists(OnDisk(tmp_path / "v.npy"))
    assert (one.rows == two.rows).all() and (one.centroids == two.centroids).all()
    assert probes_needed(vectors, one) == probes_needed(OnDisk(tmp_path / "v.npy"), two)


def test_the_nearest_lists_come_first() -> None:
    """Two lists along the axes: a query beside the second reads it first, and with one probe nothing else."""
    axes = np.eye(2, dtype=np.float32)
    lists = Lists(axes, np.array([0, 2, 3]), np.array([0, 2, 1], np.int32), np.array([0, 2, 1], np.int32))
    query = np.array([0.1, 0.9], np.float32)
    assert list(lists.near(query, probes=1)) == [slice(2, 3)]
    assert list(lists.near(query, probes=9)) == [slice(2, 3), slice(0, 2)]
    assert list(lists.near(query, probes=1, least=2)) == [slice(2, 3), slice(0, 2)]


def test_probes_are_as_many_as_the_recall_takes() -> None:
    vectors = clustered()
    lists = make_lists(vectors, lists=24)
    few, many = (probes_needed(vectors, lists, recall=recall) for recall in (0.5, 1.0))
    assert 1 <= few < many <= 24


def test_vectors_are_addressed_by_row_however_they_lie(index: Index) -> None:
    vectors = clustered()
    assert index.has_lists and not np.array_equal(index.vectors.data, vectors)
    assert np.array_equal(index.vectors[[5, 0, 599]], vectors[[5, 0, 599]])
    assert np.array_equal(index.vectors[7], vectors[7])
    assert np.allclose(index.vectors @ vectors[3], vectors @ vectors[3], atol=1e-6)
    assert verify_build(index.folder) == ()


def test_a_search_by_lists_finds_what_the_exact_one_finds(index: Index) -> None:
    result = ann_recall(index)
    assert result.passed and "lists find" in result.message and "HNSW finds" in result.message
    query = clustered()[42]
    exact, _ = nearest(index, query, mask=None, limit=10, search="exact", exact_limit=0)
    by_lists, markers = nearest(index, query, mask=None, limit=10, search="lists", exact_limit=0)
    assert by_lists.tolist() == exact.tolist() and markers == ()
    assert by_lists[0] == 42


def test_one_probe_finds_less_and_the_check_says_so(index: Index) -> None:
    rows, _ = index.vectors.near(clustered()[42], probes=1)
    assert 42 in rows and len(rows) < ROWS / 4
    every, _ = nearest(index, clustered()[42], mask=None, limit=ROWS, search="lists", exact_limit=0, probes=1)
    assert len(every) == ROWS  # fewer than were asked for would come back, unsaid
    index.vectors = type(index.vectors)(index.vectors.data, index.vectors.lists, 1)
    result = ann_recall(index)
    assert not result.passed and "probes" in result.message


def test_auto_uses_lists_above_the_limit_and_never_under_a_mask(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    kind = type(index.vectors)
    found = (np.arange(3), np.zeros(3, np.float32))
    monkeypatch.setattr(kind, "near", lambda self, query, probes, least: asked.append(probes) or found)
    query = clustered()[0]
    for exact_limit, mask, probes in (
        (ROWS, None, 0),
        (ROWS - 1, None, 0),
        (0, np.ones(ROWS, np.bool_), 0),
        (0, None, 4),
    ):
        nearest(index, query, mask=mask, limit=3, search="auto", exact_limit=exact_limit, probes=probes)
    assert asked == [index.vectors.probes, 4]


def test_lists_that_lost_a_row_are_told(grouped: Path, tmp_path: Path) -> None:
    import shutil

    copy = Path(shutil.copytree(grouped, tmp_path / grouped.name))
    rows = np.load(copy / "lists" / "rows.npy")
    rows[0] = rows[1]
    np.save(copy / "lists" / "rows.npy", rows)
    resign(copy)
    assert "lists" in {problem.file for problem in verify_build(copy)}
    np.save(copy / "lists" / "rows.npy", rows[:-1])
    resign(copy)
    with pytest.raises(CorruptBuild, match=r"lists/rows\.npy"):
        open_build(copy)
