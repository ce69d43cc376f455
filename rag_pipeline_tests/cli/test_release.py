import pytest

from rag_pipeline.defs.launch import reindex
from rag_pipeline.errors import UnknownName
from rag_pipeline_tests.sites import COLLECTION, site_settings

pytestmark = pytest.mark.model


@pytest.fixture
def ask(run, published):
    return lambda *arguments: run("release", *arguments, "--collection", COLLECTION, "--home", str(published))


def test_what_is_in_service_is_listed_shown_and_verified(ask):
    (row,) = ask("list", "--json").json["releases"]
    assert row["current"]
    assert row["state"] == "good"
    assert row["release_id"] in ask("list").out
    assert ask("show", "--json").json["release_id"] == row["release_id"]
    assert ask("show").code == 0
    verified = ask("verify", "--json")
    assert verified.code == 0
    assert verified.json["passed"]
    assert ask("reproduce", "--json").code == 0


def test_an_unknown_release_is_told(ask):
    answer = ask("show", "nothing")
    assert answer.code == UnknownName.exit_code
    assert "nothing" in answer.err


def test_rolling_back_and_collecting(ask, published):
    first = ask("show", "--json").json["release_id"]
    page = published.parent / "site/guide/start.md"
    page.write_text(page.read_text("utf-8") + "\nA project can be restored within those seven days.\n", "utf-8")
    second = reindex(site_settings(published, published.parent / "site"), COLLECTION).release
    assert second != first
    assert ask("rollback", "--json").json["current"] == first
    assert first in ask("list").out and "rolled back" in ask("list").out
    rows = {row["release_id"]: row for row in ask("list", "--json").json["releases"]}
    assert (rows[first]["withdrawn"], rows[second]["withdrawn"]) == (False, True)
    assert ask("gc", "--keep", "1", "--dry-run").code == 0
    assert {r["release_id"] for r in ask("list", "--json").json["releases"]} == {first, second}
    forced = ask("publish", second, "--force", "the page is right after all", "--json")
    assert forced.json["current"] == second
    assert "rolled back" not in ask("list").out


def test_a_damaged_build_is_found(ask, published):
    build = next(p for p in (published / COLLECTION / "builds").iterdir() if p.is_dir())
    file = build / "vectors.npy"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.chmod(0o644)
    file.write_bytes(bytes(data))
    broken = [r["release_id"] for r in ask("list", "--json").json["releases"]]
    assert any(ask("verify", release).code == 1 for release in broken)
