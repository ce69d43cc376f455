import pytest

from rag_pipeline.errors import CorruptBuild, NoRelease
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.listing import Status, describe, list_releases, status
from rag_pipeline.release.pointer import pin_champion
from rag_pipeline.release.sizes import size_of
from rag_pipeline_tests.release.standin import cut, make_release, publish_new, verify


def test_rows_newest_first(paths: CollectionPaths) -> None:
    assert list_releases(paths, verify=verify) == ()
    first, second = publish_new(paths, "s1"), publish_new(paths, "s2")
    third = make_release(paths, "s3")
    pin_champion(paths, first.release_id)
    cut(paths, third.build_key)
    rows = list_releases(paths, verify=verify)
    assert [r.release_id for r in rows] == [third.release_id, second.release_id, first.release_id]
    assert [r.current for r in rows] == [False, True, False]
    assert [r.champion for r in rows] == [False, False, True]
    assert [r.state for r in rows] == ["corrupt", "good", "good"]
    assert [r.verdict for r in rows] == ["none", "publish", "publish"]
    assert (rows[1].documents, rows[1].chunks, rows[1].created) == (2, 3, second.created)
    assert rows[1].bytes == size_of(paths.build(second.build_key)) > 300


def test_what_can_not_be_read_is_a_row_too(paths: CollectionPaths) -> None:
    release, lost = publish_new(paths, "s1"), make_release(paths, "s2")
    (paths.release(release.release_id) / "release.json").write_text("{")
    (paths.release(release.release_id) / "verdict.json").write_text("{")
    paths.build(lost.build_key).rename(paths.root / "elsewhere")
    paths.current.write_text("garbage")
    missing, damaged = list_releases(paths, verify=verify)
    assert (missing.state, missing.build_key, missing.chunks, missing.bytes) == (
        "missing build",
        lost.build_key,
        None,
        None,
    )
    assert (damaged.state, damaged.build_key, damaged.verdict, damaged.created) == ("corrupt", None, "unreadable", None)
    assert not damaged.current


def test_status_is_stale_when_the_sources_were_read_anew(paths: CollectionPaths) -> None:
    assert status(paths, verify=verify) == Status(None, None, None, None, None, None, None)
    release = publish_new(paths, "s1")
    assert status(paths, verify=verify).stale is None  # no snapshot is staged: not known
    paths.latest("snapshots").write_text("s1\n")
    now = status(paths, verify=verify)
    assert (now.current, now.state, now.build_key) == (release.release_id, "good", release.build_key)
    assert (now.snapshot, now.latest_snapshot, now.stale) == ("s1", "s1", False)
    assert now.since is not None and now.since > release.created
    paths.latest("snapshots").write_text("s2\n")
    assert status(paths, verify=verify).stale is True


def test_status_of_a_damaged_release(paths: CollectionPaths) -> None:
    release = publish_new(paths, "s1")
    (paths.release(release.release_id) / "release.json").unlink()
    assert status(paths, verify=verify).state == "corrupt"
    paths.current.write_text("0" * 20)
    now = status(paths, verify=verify)
    assert (now.current, now.state, now.since) == ("0" * 20, "corrupt", None)


def test_describe(paths: CollectionPaths) -> None:
    with pytest.raises(NoRelease):
        describe(paths, verify=verify)
    release = publish_new(paths, "s1")
    shown = describe(paths, verify=verify)
    assert shown["release_id"] == release.release_id
    assert shown["verdict"] == {"decision": "publish", "reason": "all 5 structural checks passed"}
    assert shown["strategies"] == release.strategies
    history = shown["history"]
    assert isinstance(history, list) and [c["action"] for c in history] == ["published"]
    (paths.release(release.release_id) / "release.json").unlink()
    with pytest.raises(CorruptBuild):
        describe(paths, release.release_id, verify=verify)
