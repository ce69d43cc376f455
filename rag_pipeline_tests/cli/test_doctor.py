import pytest

from rag_pipeline.cli.diagnosis import Finding, diagnose
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import load_settings


def by_check(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {f.check: f for f in findings}


def test_an_empty_data_directory_is_not_a_fault(run, tmp_path):
    answer = run("doctor", "--home", str(tmp_path / "none"), "--json")
    assert answer.code == 0, answer.out
    states = {f["check"]: f["state"] for f in answer.json["findings"]}
    assert states["duckdb with vss and fts"] == "ok"
    assert states["collections"] == "absent"
    assert not (tmp_path / "none").exists()


def test_a_file_where_the_data_directory_should_be_is_one(run, tmp_path):
    (tmp_path / "home").write_text("", "utf-8")
    answer = run("doctor", "--home", str(tmp_path / "home" / "data"))
    assert answer.code == 1
    assert "not a folder" in answer.out


def test_settings_that_name_folders_which_are_gone(tmp_path):
    """Told here, and not only when the next re-index stops at them."""
    own = CollectionSettings.model_validate(
        {
            "sources": [{"path": "gone", "name": "here"}, {"path": "s3://far/away", "name": "far"}],
            "eval_set": str(tmp_path / "no set"),
        }
    )
    settings = load_settings(environ={}).model_copy(update={"home": tmp_path, "collections": {"docs": own}})
    broken = [f for f in diagnose(settings) if f.check == "settings of docs"]
    assert [f.state for f in broken] == ["broken", "broken"]
    assert "source 'gone' is not a folder; create it" in broken[0].detail
    assert "no set' is not a folder; correct or remove it in [collections.docs]" in broken[1].detail
    bundled = load_settings(environ={}).model_copy(update={"home": tmp_path})
    assert by_check(diagnose(bundled))["settings of agent_platform"].state == "ok"


@pytest.mark.model
def test_a_published_collection_is_well_and_a_lost_build_is_not(published):
    settings = load_settings(environ={}).model_copy(update={"home": published})
    assert by_check(diagnose(settings))["collection site"].state == "ok"
    (build,) = (p for p in (published / "site" / "builds").iterdir() if p.is_dir())
    hidden = build.rename(build.with_name("hidden"))
    try:
        lost = by_check(diagnose(settings))["collection site"]
        assert lost.state == "broken"
        assert "`rag-pipeline reindex -c site`" in lost.detail
        assert "`rag-pipeline release rollback -c site`" in lost.detail
    finally:
        hidden.rename(build)
