from pathlib import Path

import pytest

from rag_pipeline.cli.context import collection_name, collection_to_read, served_collection
from rag_pipeline.errors import NoRelease, UnknownName
from rag_pipeline.settings.load import Settings, load_settings


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_PIPELINE_COLLECTION", raising=False)


def settings(home: Path, *indexed: str, **fields: object) -> Settings:
    for name in indexed:
        (home / name).mkdir(parents=True)
    return load_settings(environ={}).model_copy(update={"home": home, **fields})


def test_the_only_collection_is_read_and_told(tmp_path, capsys):
    found = settings(tmp_path, "docs")
    assert collection_to_read(found, None) == "docs"
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [f"collection docs, the only one under {tmp_path}; -c docs names it"]
    assert served_collection(found, None).root == tmp_path / "docs"
    assert collection_name(found, None) == "agent_platform"  # what is to be indexed is not guessed


def test_one_of_several_is_never_guessed(tmp_path, capsys):
    with pytest.raises(UnknownName, match="docs, wiki; name one with -c NAME"):
        served_collection(settings(tmp_path, "docs", "wiki"), None)
    assert capsys.readouterr().err == ""


def test_the_default_is_read_where_it_is_indexed(tmp_path, capsys):
    assert collection_to_read(settings(tmp_path, "agent_platform", "docs"), None) == "agent_platform"
    assert capsys.readouterr().err == ""


def test_what_somebody_chose_is_never_replaced(tmp_path, monkeypatch):
    """Going back in another collection than the one that was meant would harm it."""
    with pytest.raises(UnknownName, match="name one with -c docs"):
        served_collection(settings(tmp_path, "docs", default_collection="handbook"), None)
    assert collection_to_read(settings(tmp_path), "other") == "other"
    monkeypatch.setenv("RAG_PIPELINE_COLLECTION", "wiki")
    assert collection_to_read(settings(tmp_path), None) == "wiki"


def test_an_empty_data_directory(tmp_path):
    with pytest.raises(NoRelease, match="reindex -c NAME`, with --source FOLDER"):
        served_collection(settings(tmp_path), None)
