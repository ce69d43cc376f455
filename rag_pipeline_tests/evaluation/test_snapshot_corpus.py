import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidSource
from rag_pipeline.evaluation.snapshot_corpus import latest_snapshot, snapshot_corpus
from rag_pipeline.paths import CollectionPaths
from rag_pipeline_tests.stages import document, write_stages

PAGE = document("a.md", "One paragraph here.", "Another one.", title="A")  # "# A", and the two at 5 and 26
PAGES = [PAGE, replace(PAGE, doc_id="copy.md", canonical_id="a.md")]


def stage(root: Path, *, chunked: str | None) -> CollectionPaths:
    """The snapshot "s1", and a chunking of the snapshot `chunked`."""
    paths = CollectionPaths(root / "test")
    snapshot, chunking, _ = write_stages(root / "made", PAGES)
    shutil.copytree(snapshot, paths.snapshot("s1"))
    paths.latest("snapshots").write_text("s1\n")
    if chunked is not None:
        shutil.copytree(chunking, paths.chunking("c1"))
        (paths.chunking("c1") / "chunking.json").write_text(json.dumps({"snapshot": chunked}))
        paths.latest("chunkings").write_text("c1\n")
    return paths


def test_texts_duplicates_and_the_sections_of_its_chunking(tmp_path: Path) -> None:
    paths = stage(tmp_path, chunked="s1")
    assert latest_snapshot(paths) == "s1"
    corpus = snapshot_corpus(paths, "s1")
    assert corpus.texts == {"a.md": PAGE.text, "copy.md": PAGE.text}
    assert corpus.canonical == {"copy.md": "a.md"}
    assert [(s.start, s.end) for s in corpus.sections["a.md"]] == [(5, 24), (26, 38)]


@pytest.mark.parametrize("chunked", [None, "s0"])
def test_without_its_own_chunking_every_document_is_one_section(tmp_path: Path, chunked: str | None) -> None:
    corpus = snapshot_corpus(stage(tmp_path, chunked=chunked), "s1")
    assert [(s.start, s.end) for s in corpus.sections["a.md"]] == [(0, 38)]


def test_nothing_staged_and_a_snapshot_that_was_collected_are_none(tmp_path: Path) -> None:
    assert latest_snapshot(CollectionPaths(tmp_path / "none")) is None
    paths = stage(tmp_path, chunked=None)
    shutil.rmtree(paths.snapshot("s1"))
    assert latest_snapshot(paths) is None


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    paths = stage(tmp_path, chunked=None)
    (paths.snapshot("s1") / "documents.parquet").write_bytes(b"x")
    with pytest.raises(InvalidSource, match=r"s1: not readable .* run `rag-pipeline reindex` again"):
        snapshot_corpus(paths, "s1")
