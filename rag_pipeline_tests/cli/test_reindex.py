import pytest

from rag_pipeline.cli.reindex import name_after, with_sources
from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.settings.load import load_settings
from rag_pipeline_tests.sites import PAGES, data_directory, write_site

SETTINGS = load_settings(environ={})


@pytest.mark.model
def test_a_folder_becomes_a_collection_that_answers(run, tmp_path, exported_models):
    source = write_site(tmp_path / "My Docs")
    home = str(data_directory(tmp_path / "home", exported_models))
    answer = run("reindex", "--source", str(source), "--home", home, "--json")
    assert answer.code == 0, answer.err
    report = answer.json
    assert (report["collection"], report["documents"]) == ("my_docs", len(PAGES))
    assert {"chunks", "embedded", "reused", "build_key", "release", "seconds"} <= set(report)
    found = run("query", "rotate_keys", "--collection", "my_docs", "--home", home, "--json").json
    assert found["release"] == report["release"]

    again = run("reindex", "--source", str(source), "--home", home)
    assert again.code == 0
    assert "already in service" in again.out
    assert "indexed:markdown" in again.out

    found = run("query", "rotate_keys", "--home", home, "--json")  # the only collection there is
    assert found.json["collection"] == "my_docs"
    assert found.err.startswith("collection my_docs, the only one")
    refused = run("reindex", "-c", "my_docs", "--home", home)
    assert refused.code == UnknownName.exit_code
    # Its files lie in folders only, so their own folder could be one of several sources.
    assert "`rag-pipeline reindex --source FOLDER -c my_docs`" in refused.err


@pytest.mark.parametrize(
    ("source", "name"),
    [("./docs", "docs"), ("/srv/My Docs/", "my_docs"), ("s3://bucket/Wiki-2", "wiki_2"), ("2024", "c_2024")],
)
def test_a_collection_is_named_after_its_folder(source, name):
    assert name_after(source) == name


def test_several_sources_are_told_apart_by_their_folders():
    own = with_sources(SETTINGS, "both", ("a/docs", "b/wiki"), allow_empty=False).collection("both")
    assert [(s.path, s.name) for s in own.sources] == [("a/docs", "docs"), ("b/wiki", "wiki")]
    with pytest.raises(InvalidSettings, match="same name"):
        with_sources(SETTINGS, "both", ("a/docs", "b/docs"), allow_empty=False)


def test_settings_of_a_known_collection_are_kept():
    own = with_sources(SETTINGS, "agent_platform", ("elsewhere",), allow_empty=True).collection("agent_platform")
    assert own.allow_empty
    assert own.chunking == SETTINGS.collection("agent_platform").chunking
