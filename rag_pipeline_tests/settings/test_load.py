import os
from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.settings.load import load_settings


def write(folder: Path, text: str) -> Path:
    path = folder / "rag_pipeline.toml"
    path.write_text(text, "utf-8")
    return path


def load(folder: Path, text: str):
    return load_settings(write(folder, text), environ={})


def test_defaults_have_the_bundled_collection_and_three_strategies():
    settings = load_settings(environ={})
    assert set(settings.collections) == {"agent_platform"}
    assert {"bm25", "vector", "hybrid"} <= set(settings.strategies)
    assert settings.home == Path("data")


def test_the_environment_names_the_data_directory_and_the_file(tmp_path):
    path = write(tmp_path, '[collections.docs]\nsources = [{ path = "docs" }]\n')
    settings = load_settings(environ={"RAG_PIPELINE_HOME": "/srv/rag", "RAG_PIPELINE_CONFIG": str(path)})
    assert settings.home == Path("/srv/rag")
    assert set(settings.collections) == {"agent_platform", "docs"}


def test_a_strategy_of_the_same_name_is_merged_field_by_field(tmp_path):
    settings = load(tmp_path, "[strategies.hybrid]\ncandidates = 80\n")
    assert settings.strategy("hybrid").candidates == 80
    assert settings.strategy("hybrid").vector_weight == load_settings(environ={}).strategy("hybrid").vector_weight


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[collections.docs.chunking]\nchild_tokens = 10\nchild_overlap_tokens = 20\n", "child_overlap_tokens"),
        ("[collections.docs.chunking]\nchild_tokens = 10\nchild_overlap_tokens = 10\n", "child_overlap_tokens"),
        ("[collections.docs.chunking]\nsection_tokens = 100\nchild_tokens = 200\n", "child_tokens"),
        ("[collections.docs.chunking]\nchild_size = 10\n", "child_size"),
        ("colections = {}\n", "colections"),
        ("[collections.docs.chunking]\nchild_tokns = 10\n", "did you mean 'child_tokens'"),
        ("collections = 5\n", "collections"),
        ('[collections.docs]\nreindex_cron = "every day"\n', "cron"),
        ('[collections.docs]\ntimezone = "Mars/X"\n', "Mars/X"),
        ("[strategies.mine]\nvector_weight = 1.5\n", "vector_weight"),
        ("[collections.Docs]\n", "Docs"),
        ("[collections.models]\n", "models"),
        ('[collections.docs]\nsources = [{ path = "a" }, { path = "b" }]\n', "name"),
        ('[collections.docs]\nsources = [{ path = "a", name = "x" }, { path = "b", name = "x" }]\n', "name"),
    ],
)
def test_what_cannot_be_meant_is_refused_naming_the_field(tmp_path, text, named):
    with pytest.raises(InvalidSettings) as raised:
        load(tmp_path, text)
    assert named in str(raised.value)
    assert "rag_pipeline.toml" in str(raised.value)


def test_broken_toml_and_a_missing_file_are_told_by_name(tmp_path):
    with pytest.raises(InvalidSettings, match="not readable as TOML"):
        load(tmp_path, "[collections\n")
    with pytest.raises(InvalidSettings, match="no such settings file"):
        load_settings(tmp_path / "none.toml", environ={})


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'hybrid'"):
        load_settings(environ={}).strategy("hybrd")
    with pytest.raises(UnknownName, match="known: agent_platform"):
        load_settings(environ={}).collection("nothing")


def test_a_file_that_changes_is_read_again(tmp_path):
    """Settings are kept by the file's text, so even a change within the clock's resolution is seen."""
    file = tmp_path / "rag_pipeline.toml"
    for name in ("first", "other"):
        file.write_text(f'default_collection = "{name}"')
        os.utime(file, (0, 0))
        assert load_settings(file, environ={}).default_collection == name
    assert load_settings(file, environ={"RAG_PIPELINE_HOME": "/elsewhere"}).home == Path("/elsewhere")
    assert load_settings(file, environ={}).home == Path("data")
