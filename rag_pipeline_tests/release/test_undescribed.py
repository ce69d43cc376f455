from pathlib import Path

import pytest

from rag_pipeline.errors import UnknownName
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.undescribed import described, last_folder
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import load_settings
from rag_pipeline.sources.snapshot import take_snapshot

TEXT = "# Keys\n\nSigning keys are rotated every 90 days.\n"


@pytest.fixture
def docs(tmp_path: Path) -> CollectionPaths:
    return CollectionPaths(tmp_path / "home" / "docs")


def read(paths: CollectionPaths, *sources: tuple[Path, str]) -> None:
    """Take a snapshot of the sources (folder, name), as a re-index does."""
    settings = CollectionSettings.model_validate({"sources": [{"path": str(p), "name": n} for p, n in sources]})
    paths.latest("snapshots").parent.mkdir(parents=True, exist_ok=True)
    paths.latest("snapshots").write_text(take_snapshot(settings, paths).key + "\n")


def folder_with(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{TEXT}\nThis is {name}.\n")
    return folder


def test_the_folder_is_told_with_the_whole_command(tmp_path: Path, docs: CollectionPaths) -> None:
    source = folder_with(tmp_path / "My Docs", "a.md", "deep/b.md")
    read(docs, (source, ""))
    settings = load_settings(environ={}).model_copy(update={"home": docs.root.parent})
    with pytest.raises(UnknownName) as raised:
        described(settings, "docs")
    assert f"`rag-pipeline reindex --source '{source}' -c docs`" in str(raised.value)
    assert f'[[collections.docs.sources]] with path = "{source}"' in str(raised.value)
    with pytest.raises(UnknownName) as raised:
        described(settings, "docs", tell_folder=False)
    assert "--source FOLDER -c docs" in str(raised.value) and str(tmp_path) not in str(raised.value)


def test_several_folders_are_not_taken_for_the_one_above_them(tmp_path: Path, docs: CollectionPaths) -> None:
    """Reading that one would index whatever else lies there."""
    read(docs, (folder_with(tmp_path / "x/guide", "a.md"), "guide"), (folder_with(tmp_path / "x/wiki", "a.md"), "wiki"))
    assert last_folder(docs) is None


def test_without_a_readable_snapshot(docs: CollectionPaths) -> None:
    assert last_folder(docs) is None
    docs.latest("snapshots").parent.mkdir(parents=True)
    docs.latest("snapshots").write_text("gone\n")
    assert last_folder(docs) is None


def test_a_collection_of_the_settings_and_one_that_is_nowhere(tmp_path: Path) -> None:
    settings = load_settings(environ={}).model_copy(update={"home": tmp_path})
    assert described(settings, "agent_platform").sources
    with pytest.raises(UnknownName, match="unknown collection 'docs'; known: agent_platform"):
        described(settings, "docs")
