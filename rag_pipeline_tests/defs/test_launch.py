"""The whole job, with the real model, on a site of five pages."""

import shutil
from pathlib import Path

import pytest

from rag_pipeline.defs.launch import reindex
from rag_pipeline.errors import CorruptBuild, InvalidSource, RagPipelineError
from rag_pipeline.paths import Home
from rag_pipeline.retrieval.retrieve import retrieve
from rag_pipeline.schema import Principal
from rag_pipeline_tests.sites import COLLECTION, PAGES, data_directory, site_settings, write_site

pytestmark = pytest.mark.model


@pytest.fixture
def site(tmp_path: Path, exported_models: Path):
    source = write_site(tmp_path / "site")
    return site_settings(data_directory(tmp_path / "home", exported_models), source), source


def found(settings, query: str, **arguments) -> list[str]:
    result = retrieve(query, collection=COLLECTION, home=settings.home, **arguments)
    return [hit.doc_id for hit in result.hits]


def test_a_first_run_publishes_and_answers(site):
    settings, _ = site
    seen = []
    report = reindex(settings, COLLECTION, progress=seen.append)
    assert (report.documents, report.previous, report.changed) == (len(PAGES), None, True)
    assert report.ledger["indexed"] == len(PAGES)
    assert report.embedded == report.chunks > 0
    assert {p.stage for p in seen} >= {"documents", "chunks", "embed", "index"}
    assert found(settings, "rotate_keys")[0] in {"code/rotate.py", "keys/rotation.md"}
    assert found(settings, "E-8003")[0] == "keys/rotation.md"
    assert found(settings, "where are private keys held")[0] == "keys/storage.md"


def test_restricted_pages_are_found_by_their_readers_alone(site):
    settings, _ = site
    reindex(settings, COLLECTION)
    assert "people/salaries.md" not in found(settings, "salary bands", top_k=50)
    reader = Principal("maria", groups=("people-ops",))
    assert found(settings, "salary bands", principal=reader)[0] == "people/salaries.md"


def test_nothing_changed_is_no_work(site):
    settings, source = site
    first = reindex(settings, COLLECTION)
    (source / "keys/storage.md").touch()
    second = reindex(settings, COLLECTION)
    assert (second.build_key, second.release) == (first.build_key, first.release)
    assert (second.embedded, second.build_reused, second.changed) == (0, True, False)


def test_an_edit_embeds_only_what_it_changed(site):
    settings, source = site
    first = reindex(settings, COLLECTION)
    page = source / "guide/start.md"
    page.write_text(page.read_text("utf-8").replace("seven days", "thirty days"), "utf-8")
    second = reindex(settings, COLLECTION)
    assert second.build_key != first.build_key
    assert 0 < second.embedded < second.chunks
    assert second.changes == {"added": 0, "changed": 1, "moved": 0, "deleted": 0}


def test_a_moved_page_is_found_at_its_new_path_and_nothing_is_embedded(site):
    settings, source = site
    reindex(settings, COLLECTION)
    (source / "archive").mkdir()
    (source / "keys/storage.md").rename(source / "archive/storage.md")
    report = reindex(settings, COLLECTION)
    assert (report.embedded, report.changes["moved"]) == (0, 1)
    places = found(settings, "where are private keys held", top_k=50)
    assert places[0] == "archive/storage.md"
    assert "keys/storage.md" not in places


def test_a_deleted_page_is_gone(site):
    settings, source = site
    reindex(settings, COLLECTION)
    (source / "keys/storage.md").unlink()
    report = reindex(settings, COLLECTION)
    assert report.changes["deleted"] == 1
    assert "keys/storage.md" not in found(settings, "where are private keys held", top_k=50)


@pytest.mark.parametrize("what", ["its file", "its folder"])
def test_the_next_run_mends_a_release_in_service_that_was_damaged(site, what):
    settings, source = site
    before = reindex(settings, COLLECTION)
    folder = Home(settings.home).collection(COLLECTION).release(before.release)
    if what == "its file":
        (folder / "release.json").write_text('{"x', "utf-8")
    else:
        shutil.rmtree(folder)
    with pytest.raises(CorruptBuild, match="rag-pipeline reindex"):
        found(settings, "rotate keys")
    assert reindex(settings, COLLECTION).release == before.release
    assert found(settings, "E-8003")[0] == "keys/rotation.md"
    shutil.rmtree(folder)
    (source / "keys/storage.md").unlink()
    assert reindex(settings, COLLECTION).changed  # another release takes the place of one that can't be read
    assert found(settings, "E-8003")[0] == "keys/rotation.md"


def test_a_source_that_went_away_changes_nothing(site):
    settings, source = site
    before = reindex(settings, COLLECTION)
    shutil.rmtree(source)
    with pytest.raises(InvalidSource, match=str(source)):
        reindex(settings, COLLECTION)
    result = retrieve("rotate keys", collection=COLLECTION, home=settings.home)
    assert result.release_id == before.release


def test_a_run_that_would_publish_nothing_is_refused_and_the_old_release_stays(site):
    settings, source = site
    before = reindex(settings, COLLECTION)
    for page in source.rglob("*.*"):
        page.write_text("   \n", "utf-8")
    with pytest.raises(RagPipelineError, match="index_is_not_empty"):
        reindex(settings, COLLECTION)
    assert retrieve("rotate keys", collection=COLLECTION, home=settings.home).release_id == before.release


def test_an_empty_index_is_published_when_it_is_allowed(site):
    settings, source = site
    for page in source.rglob("*.*"):
        page.write_text("   \n", "utf-8")
    allowed = site_settings(settings.home, source, allow_empty=True)
    assert reindex(allowed, COLLECTION).chunks == 0
    result = retrieve("rotate keys", collection=COLLECTION, home=settings.home)
    assert (result.hits, result.empty_reason) == ((), "empty_index")
