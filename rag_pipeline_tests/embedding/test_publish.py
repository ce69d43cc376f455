from pathlib import Path

import pytest

from rag_pipeline.embedding.publish import publish_folder


def folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def test_the_folder_appears_under_its_name(tmp_path: Path) -> None:
    publish_folder(folder(tmp_path / "partial", card="new"), tmp_path / "final", last="card")
    assert (tmp_path / "final" / "card").read_text() == "new"
    assert not (tmp_path / "partial").exists()


def test_a_finished_one_is_kept(tmp_path: Path) -> None:
    folder(tmp_path / "final", card="old")
    publish_folder(folder(tmp_path / "partial", card="new"), tmp_path / "final", last="card")
    assert (tmp_path / "final" / "card").read_text() == "old"


def test_an_unfinished_one_is_an_error(tmp_path: Path) -> None:
    folder(tmp_path / "final", other="x")
    with pytest.raises(OSError, match="not empty"):
        publish_folder(folder(tmp_path / "partial", card="new"), tmp_path / "final", last="card")
