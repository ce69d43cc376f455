from dataclasses import replace

import pytest

from rag_pipeline.errors import NoRelease
from rag_pipeline.index.manifest import read_manifest, write_manifest
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.reproduce import Comparison, reproduce
from rag_pipeline.release.verdict import read_verdict, write_verdict
from rag_pipeline_tests.release.standin import damage, make_release, publish_new, verify


def by_name(comparisons: tuple[Comparison, ...]) -> dict[str, Comparison]:
    return {c.name: c for c in comparisons}


def test_a_sound_release_reproduces(paths: CollectionPaths) -> None:
    release = publish_new(paths, "s1")
    report = reproduce(paths, verify=verify)
    assert report.same and not report.has_quality
    assert [c.name for c in report.comparisons] == [
        "release_id",
        "build_key",
        "files",
        "check build_verifies",
        "check index_is_not_empty",
        "check release_file_is_intact",
        "check release_fits_build",
        "check strategies_are_known",
        "decision",
    ]
    assert report.comparisons[1] == Comparison("build_key", release.build_key, release.build_key, True)
    assert report.message == (
        f"release {release.release_id} reproduces: 9 of 9 comparisons agree; "
        "it has no quality evaluation to reproduce, only structural checks"
    )


def test_a_flipped_byte_does_not(paths: CollectionPaths) -> None:
    release = publish_new(paths, "s1")
    damage(paths, release.build_key)
    report = reproduce(paths, release.release_id, verify=verify)
    found = by_name(report.comparisons)
    assert not report.same
    assert found["files"] == Comparison(
        "files", "3 checksums", "index.duckdb differ", False, "index.duckdb: has another checksum"
    )
    assert (found["check build_verifies"].recorded, found["check build_verifies"].recomputed) == ("passed", "failed")
    assert (found["decision"].recorded, found["decision"].recomputed) == ("publish", "refuse")
    assert found["release_id"].same and found["build_key"].same
    assert "does not reproduce (files, check build_verifies" in report.message


def test_a_release_without_a_verdict(paths: CollectionPaths) -> None:
    with pytest.raises(NoRelease):
        reproduce(paths, verify=verify)
    release = make_release(paths, "s1")
    report = reproduce(paths, release.release_id, verify=verify)
    verdict = by_name(report.comparisons)["verdict"]
    assert (verdict.recorded, verdict.same, verdict.note) == ("none", None, "it was never evaluated")
    assert report.same


def test_a_verdict_about_quality_is_not_compared_here(paths: CollectionPaths) -> None:
    release = publish_new(paths, "s1")
    folder = paths.release(release.release_id)
    stored = read_verdict(folder)
    assert stored is not None
    write_verdict(folder, replace(stored, eval_set_hash="e1", checks={**stored.checks, "ndcg_floor": True}))
    report = reproduce(paths, release.release_id, verify=verify)
    found = by_name(report.comparisons)
    assert report.has_quality and report.same
    assert found["check ndcg_floor"].same is None and found["decision"].same is None
    assert "its quality was evaluated too, which is not run here" in report.message


def test_an_unreadable_verdict_and_release_file(paths: CollectionPaths) -> None:
    release = publish_new(paths, "s1")
    folder = paths.release(release.release_id)
    (folder / "verdict.json").write_text("{")
    assert by_name(reproduce(paths, verify=verify).comparisons)["verdict"].same is False
    file = folder / "release.json"
    file.write_text(file.read_text().replace("0.6", "0.7"))
    report = reproduce(paths, verify=verify)
    assert [(c.name, c.same) for c in report.comparisons] == [("release_id", False)]
    assert "its content is that of" in report.comparisons[0].note


def test_a_missing_build(paths: CollectionPaths) -> None:
    release = publish_new(paths, "s1")
    paths.build(release.build_key).rename(paths.root / "elsewhere")
    found = by_name(reproduce(paths, verify=verify).comparisons)
    assert found["build"].same is False and found["check build_verifies"].same is False


def test_a_build_key_that_does_not_follow_from_its_inputs(paths: CollectionPaths) -> None:
    release = publish_new(paths, "s1")
    folder = paths.build(release.build_key)
    manifest = read_manifest(folder)
    write_manifest(folder, replace(manifest, snapshot_key="other"))
    found = by_name(reproduce(paths, verify=verify).comparisons)["build_key"]
    assert (found.recorded, found.same) == (release.build_key, False)
    write_manifest(folder, replace(manifest, versions={"index": "0.0.0"}))
    found = by_name(reproduce(paths, verify=verify).comparisons)["build_key"]
    assert found.same is None and "built by index version 0.0.0" in found.note
