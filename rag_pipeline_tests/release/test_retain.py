import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from rag_pipeline.errors import CorruptBuild, InvalidSettings
from rag_pipeline.index.lease import hold, hold_exclusive
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.lock import build_lock
from rag_pipeline.release.pointer import pin_champion
from rag_pipeline.release.retain import gc
from rag_pipeline.release.rollback import rollback
from rag_pipeline.release.sizes import size_of
from rag_pipeline.release.stored import release_ids
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.schema import Release
from rag_pipeline_tests.release.standin import cut, judge, make_build, make_release, publish_new, verify


def several(paths: CollectionPaths, n: int) -> list[Release]:
    return [publish_new(paths, f"s{i}") for i in range(n)]


def builds(paths: CollectionPaths) -> set[str]:
    return {p.name for p in paths.builds.iterdir()}


def age(path: Path) -> None:
    old = time.time() - 7200
    for p in (path, *path.rglob("*")):
        os.utime(p, (old, old))


def test_keeps_the_last_good_ones_and_their_builds(paths: CollectionPaths) -> None:
    releases = several(paths, 5)
    gone = sum(size_of(paths.build(r.build_key)) + size_of(paths.release(r.release_id)) for r in releases[:3])
    done = gc(paths, keep=2, verify=verify)
    assert set(done.releases) == {r.release_id for r in releases[:3]}
    assert set(done.builds) == {r.build_key for r in releases[:3]}
    assert set(release_ids(paths)) == {r.release_id for r in releases[3:]}
    assert builds(paths) == {r.build_key for r in releases[3:]}
    assert done.bytes_freed == gone > 0
    again = gc(paths, keep=2, verify=verify)
    assert (again.releases, again.builds, again.bytes_freed) == ((), (), 0)
    assert rollback(paths, verify=verify).current == releases[3].release_id


def test_a_dry_run_says_the_same_and_removes_nothing(paths: CollectionPaths) -> None:
    several(paths, 4)
    before = sorted(paths.root.rglob("*"))
    said = gc(paths, keep=1, dry_run=True, verify=verify)
    assert sorted(p for p in paths.root.rglob("*") if p.name != "build.lock") == [
        p for p in before if p.name != "build.lock"
    ]
    done = gc(paths, keep=1, verify=verify)
    assert (said.releases, said.builds, said.bytes_freed) == (done.releases, done.builds, done.bytes_freed)
    assert said.dry_run and not done.dry_run


def test_current_stays_however_old(paths: CollectionPaths) -> None:
    releases = several(paths, 4)
    rollback(paths, releases[0].release_id, verify=verify)
    gc(paths, keep=1, verify=verify)
    # the newest is the latest candidate, which may be about to be published
    assert set(release_ids(paths)) == {releases[0].release_id, releases[3].release_id}
    assert read_current(paths) == releases[0].release_id


def test_champion_stays(paths: CollectionPaths) -> None:
    releases = several(paths, 4)
    pin_champion(paths, releases[1].release_id)
    gc(paths, keep=1, verify=verify)
    assert set(release_ids(paths)) == {releases[1].release_id, releases[3].release_id}


def test_refused_candidates_push_nothing_out(paths: CollectionPaths) -> None:
    """A week of nightly candidates that the gate refuses must not cost the release one could go back to."""
    served = several(paths, 2)
    refused = [make_release(paths, f"r{i}") for i in range(4)]
    gc(paths, keep=2, verify=verify)
    assert set(release_ids(paths)) == {r.release_id for r in [*served, refused[-1]]}


def test_damaged_releases_do_not_count_and_go(paths: CollectionPaths) -> None:
    releases = several(paths, 4)
    cut(paths, releases[2].build_key)
    (paths.release(releases[1].release_id) / "release.json").write_text("{")
    done = gc(paths, keep=2, verify=verify)
    assert set(release_ids(paths)) == {releases[0].release_id, releases[3].release_id}
    assert set(done.builds) == {releases[1].build_key, releases[2].build_key}


def test_a_build_of_another_format_is_not_damaged(paths: CollectionPaths) -> None:
    """After going back to an older version of the package, gc must not remove what the newer one made."""
    releases = several(paths, 2)
    manifest = paths.build(releases[0].build_key) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format_version": 2', '"format_version": 999'))
    assert gc(paths, keep=2, verify=verify).releases == ()


def test_what_a_reader_holds_stays_until_it_lets_go(paths: CollectionPaths) -> None:
    releases = several(paths, 3)
    with hold(paths.lease(releases[0].build_key)):
        done = gc(paths, keep=1, verify=verify)
        assert done.releases == (releases[1].release_id,)
        assert releases[0].build_key in builds(paths)
    assert gc(paths, keep=1, verify=verify).builds == (releases[0].build_key,)
    assert not paths.lease(releases[0].build_key).exists()


def test_the_lock_files_of_builds_that_are_gone(paths: CollectionPaths) -> None:
    release = several(paths, 1)[0]
    kept, gone, busy = (paths.builds / f".{key}.lock" for key in (release.build_key, "gone", "busy"))
    kept.touch()
    gone.touch()
    with hold_exclusive(busy):  # somebody builds it now
        gc(paths, keep=1, dry_run=True, verify=verify)
        assert gone.exists()
        gc(paths, keep=1, verify=verify)
    assert (kept.exists(), gone.exists(), busy.exists()) == (True, False, True)


def test_a_held_build_that_nothing_names(paths: CollectionPaths) -> None:
    several(paths, 1)
    key = make_build(paths, "orphan")
    with hold(paths.lease(key)):
        for dry_run in (True, False):
            done = gc(paths, keep=1, dry_run=dry_run, verify=verify)
            assert (done.builds, done.held, done.bytes_freed) == ((), (key,), 0)
    assert gc(paths, keep=1, verify=verify).builds == (key,)


def test_the_latest_candidate_build_stays(paths: CollectionPaths) -> None:
    several(paths, 1)
    key, orphan = make_build(paths, "candidate"), make_build(paths, "orphan")
    paths.latest("candidate_build").write_text(key)
    assert gc(paths, keep=1, verify=verify).builds == (orphan,)


def test_staging_but_the_latest(paths: CollectionPaths) -> None:
    several(paths, 1)
    for what in ("snapshots", "chunkings", "vectors"):
        for key in ("old", "new"):
            (paths.staging / what / key).mkdir(parents=True)
            (paths.staging / what / key / "rows").write_bytes(b"123")
    paths.latest("snapshots").write_text("new")
    paths.latest("vectors").write_text("new\n")
    done = gc(paths, keep=1, verify=verify)
    assert done.staging == ("snapshots/old", "vectors/old")
    assert done.bytes_freed == 6
    assert paths.chunking("old").is_dir() and paths.snapshot("new").is_dir()


def test_leftovers(paths: CollectionPaths) -> None:
    several(paths, 1)
    (paths.staging / "snapshots").mkdir()
    names = [".tmp-CURRENT-1-aa", "builds/.tmp-k-1-aa", "builds/.corrupt-k", "staging/snapshots/.tmp-k"]
    for name in names:
        for suffix in ("old", "new"):
            folder = paths.root / (name + suffix)
            folder.mkdir()
            (folder / "part").write_bytes(b"12")
            if suffix == "old":
                age(folder)
    trash = paths.releases / ".trash-x"
    trash.mkdir()
    done = gc(paths, keep=1, verify=verify)
    assert set(done.leftovers) == {name + "old" for name in names} | {"releases/.trash-x"}
    assert done.bytes_freed == 8
    assert all((paths.root / (name + "new")).is_dir() for name in names)
    assert not trash.exists()


def test_a_temporary_folder_that_a_builder_holds_is_not_abandoned(paths: CollectionPaths) -> None:
    several(paths, 1)
    folder = paths.builds / ".tmp-abc"
    folder.mkdir()
    with hold_exclusive(paths.builds / ".tmp-abc.lock"):
        assert gc(paths, keep=1, stale_seconds=0, verify=verify).leftovers == ()
    done = gc(paths, keep=1, stale_seconds=0, verify=verify)
    assert done.leftovers == ("builds/.tmp-abc", "builds/.tmp-abc.lock")


def test_a_running_build_keeps_all_but_releases(paths: CollectionPaths) -> None:
    releases = several(paths, 2)
    done = []

    with build_lock(paths, wait_seconds=0):
        thread = threading.Thread(target=lambda: done.append(gc(paths, keep=1, verify=verify)))
        thread.start()
        thread.join()
    assert done[0].releases == (releases[0].release_id,)
    assert done[0].builds == ()
    assert "only releases were collected" in done[0].notes[0]
    with build_lock(paths, wait_seconds=0):  # the step that holds the lock itself collects all
        assert gc(paths, keep=1, verify=verify).builds == (releases[0].build_key,)


def test_strangers_are_named_and_left(paths: CollectionPaths) -> None:
    several(paths, 1)
    (paths.builds / "backup").mkdir()
    (paths.releases / "notes").mkdir()
    done = gc(paths, keep=1, verify=verify)
    assert done.notes == (
        "releases/notes is not a release",
        "builds/backup has no manifest, so it is not taken for a build",
    )
    assert (paths.builds / "backup").is_dir() and (paths.releases / "notes").is_dir()


def test_links_are_removed_not_followed(paths: CollectionPaths, tmp_path: Path) -> None:
    several(paths, 1)
    key = make_build(paths, "orphan")
    outside = tmp_path / "outside"
    shutil.move(paths.build(key), outside)
    paths.build(key).symlink_to(outside)
    assert gc(paths, keep=1, verify=verify).builds == (key,)
    assert not paths.build(key).is_symlink()
    assert (outside / "index.duckdb").is_file()


def test_nothing_goes_while_it_is_unknown_what_is_needed(paths: CollectionPaths) -> None:
    releases = several(paths, 3)
    file = paths.release(releases[2].release_id) / "release.json"
    content = file.read_text()
    file.write_text("{")
    with pytest.raises(CorruptBuild):
        gc(paths, keep=1, verify=verify)
    file.write_text(content)
    paths.current.write_text("0" * 20 + "\n")
    with pytest.raises(CorruptBuild, match=r"CURRENT names release 0{20}, which is gone.*reindex -c wiki`"):
        gc(paths, keep=1, verify=verify)
    paths.current.write_text(releases[2].release_id + "\n")
    paths.champion.write_text("1" * 20 + "\n")
    with pytest.raises(CorruptBuild, match=r"CHAMPION names release 1{20}, which is gone.*release champion -c wiki`"):
        gc(paths, keep=1, verify=verify)
    paths.current.write_text("garbage")
    with pytest.raises(CorruptBuild):
        gc(paths, keep=1, verify=verify)
    assert len(release_ids(paths)) == 3
    with pytest.raises(InvalidSettings, match="at least 1"):
        gc(paths, keep=0, verify=verify)


def test_an_empty_collection(paths: CollectionPaths) -> None:
    done = gc(paths, keep=1, verify=verify)
    assert (done.releases, done.builds, done.staging, done.leftovers) == ((), (), (), ())


def test_unpublished_ones_only(paths: CollectionPaths) -> None:
    releases = [make_release(paths, f"s{i}") for i in range(3)]
    judge(paths, releases[0])
    gc(paths, keep=2, verify=verify)
    assert set(release_ids(paths)) == {r.release_id for r in releases[1:]}
