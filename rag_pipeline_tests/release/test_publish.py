import threading
from dataclasses import replace
from pathlib import Path

import pytest

from rag_pipeline.durable import write_text
from rag_pipeline.errors import BuildBusy, CorruptBuild, ReleaseRefused, UnknownName
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import read_history
from rag_pipeline.release.lock import publish_lock
from rag_pipeline.release.pointer import pin_champion, swap
from rag_pipeline.release.publish import Published, publish
from rag_pipeline.release.stored import read_champion
from rag_pipeline.release.verdict import read_verdict
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline_tests.release.standin import cut, damage, judge, make_release, publish_new, verify


def test_first_and_second(paths: CollectionPaths) -> None:
    first = make_release(paths, "s1")
    judge(paths, first)
    assert publish(paths, first.release_id, verify=verify) == Published(None, first.release_id)
    second = make_release(paths, "s2")
    judge(paths, second)
    done = publish(paths, second.release_id, verify=verify, who="ada@host")
    assert done == Published(first.release_id, second.release_id)
    assert paths.current.read_text() == second.release_id + "\n"
    assert [(c.action, c.release_id, c.previous) for c in read_history(paths)] == [
        ("published", first.release_id, None),
        ("published", second.release_id, first.release_id),
    ]
    assert read_history(paths)[1].who == "ada@host"
    assert read_history(paths)[1].reason == "all 5 structural checks passed"


def test_what_is_current_is_not_published_again(paths: CollectionPaths) -> None:
    release = publish_new(paths, "s1")
    before = paths.current.stat().st_mtime_ns
    assert publish(paths, release.release_id, verify=verify) == Published(release.release_id, release.release_id)
    assert paths.current.stat().st_mtime_ns == before
    assert len(read_history(paths)) == 1


def test_no_verdict_is_a_refusal(paths: CollectionPaths) -> None:
    """A rebuild whose checks never ran must not be carried in by the result of an earlier one."""
    old = publish_new(paths, "s1")
    new = make_release(paths, "s2")
    with pytest.raises(ReleaseRefused, match=f"release {new.release_id} is not published: it has no verdict"):
        publish(paths, new.release_id, verify=verify)
    assert read_current(paths) == old.release_id


def test_a_refusing_verdict_refuses_whoever_asks(paths: CollectionPaths) -> None:
    """Automation that asks for the last step alone runs past a failed check; the verdict is read again here."""
    old = publish_new(paths, "s1")
    empty = make_release(paths, "s2", chunks=0)
    judge(paths, empty)
    with pytest.raises(ReleaseRefused, match="refuses it: index_is_not_empty: no chunk to find"):
        publish(paths, empty.release_id, verify=verify)
    assert read_current(paths) == old.release_id


def test_a_verdict_about_another_release_is_void(paths: CollectionPaths) -> None:
    publish_new(paths, "s1")
    judged, other = make_release(paths, "s2"), make_release(paths, "s3")
    judge(paths, judged)
    verdict = read_verdict(paths.release(judged.release_id))
    with pytest.raises(ReleaseRefused, match=f"void: it is about release {judged.release_id}"):
        publish(paths, other.release_id, verdict=verdict, verify=verify)
    # a verdict file copied into the other's folder is no better
    copied = (paths.release(judged.release_id) / "verdict.json").read_text()
    (paths.release(other.release_id) / "verdict.json").write_text(copied)
    with pytest.raises(ReleaseRefused, match="void"):
        publish(paths, other.release_id, verify=verify)


def test_a_verdict_about_another_baseline_is_void(paths: CollectionPaths) -> None:
    first = publish_new(paths, "s1")
    late = make_release(paths, "s2")
    judge(paths, late)
    moved = publish_new(paths, "s3")
    message = f"it compared with {first.release_id}, but {moved.release_id} is in service now"
    with pytest.raises(ReleaseRefused, match=message):
        publish(paths, late.release_id, verify=verify)
    assert read_current(paths) == moved.release_id
    judge(paths, late)
    assert publish(paths, late.release_id, verify=verify).previous == moved.release_id


def test_a_given_verdict_is_stored_with_what_it_let_in(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    judge(paths, release)
    stored = read_verdict(paths.release(release.release_id))
    assert stored is not None
    given = replace(stored, reason="measured", eval_set_hash="e1")
    publish(paths, release.release_id, verdict=given, verify=verify)
    assert read_verdict(paths.release(release.release_id)) == given


def test_a_build_that_does_not_verify_is_refused_even_by_force(paths: CollectionPaths) -> None:
    old = publish_new(paths, "s1")
    new = make_release(paths, "s2")
    judge(paths, new)
    cut(paths, new.build_key)
    for reason in (None, "customer waits"):
        with pytest.raises(ReleaseRefused, match=r"does not verify: build_verifies: .*vectors\.npy"):
            publish(paths, new.release_id, force_reason=reason, verify=verify)
    assert read_current(paths) == old.release_id


def test_a_missing_build_is_refused(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    judge(paths, release)
    paths.build(release.build_key).rename(paths.root / "elsewhere")
    with pytest.raises(ReleaseRefused, match=f"build {release.build_key} is missing"):
        publish(paths, release.release_id, verify=verify)
    assert read_current(paths) is None


def test_force_needs_a_reason_and_is_recorded(paths: CollectionPaths) -> None:
    old = publish_new(paths, "s1")
    new = make_release(paths, "s2")
    with pytest.raises(ReleaseRefused, match="needs a reason"):
        publish(paths, new.release_id, force_reason="  ", verify=verify)
    publish(paths, new.release_id, force_reason="legal asked", verify=verify)
    last = read_history(paths)[-1]
    assert (last.action, last.previous) == ("forced", old.release_id)
    assert last.reason == "legal asked (past: it has no verdict; evaluate it first)"


def test_what_is_forced_is_read_in_full(paths: CollectionPaths) -> None:
    """The verdict is what says that a build was scanned; without one, publishing scans it."""
    release = make_release(paths, "s1")
    damage(paths, release.build_key)
    with pytest.raises(ReleaseRefused, match="has another checksum"):
        publish(paths, release.release_id, force_reason="customer waits", verify=verify)


def test_a_swap_that_was_not_recorded_is_recorded_first(paths: CollectionPaths) -> None:
    first, second = make_release(paths, "s1"), make_release(paths, "s2")
    write_text(paths.current, first.release_id + "\n")
    judge(paths, second)
    publish(paths, second.release_id, verify=verify)
    assert [(c.action, c.release_id, c.previous) for c in read_history(paths)] == [
        ("found", first.release_id, None),
        ("published", second.release_id, first.release_id),
    ]


def test_unknown_and_damaged(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    for name in ("0" * 20, "../wiki", ""):
        with pytest.raises(UnknownName, match=f"unknown release .*known: {release.release_id}"):
            publish(paths, name, verify=verify)
    other = make_release(paths, "s2")
    file = paths.release(other.release_id) / "release.json"
    file.write_text((paths.release(release.release_id) / "release.json").read_text())
    with pytest.raises(CorruptBuild, match=f"holds release {release.release_id}"):
        publish(paths, other.release_id, verify=verify)


def test_a_publish_that_fails_midway_leaves_the_old_one_in_service(
    paths: CollectionPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = publish_new(paths, "s1")
    new = make_release(paths, "s2")
    judge(paths, new)

    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rag_pipeline.release.pointer.write_text", full)
    with pytest.raises(OSError, match="No space"):
        publish(paths, new.release_id, verify=verify)
    assert read_current(paths) == old.release_id
    assert len(read_history(paths)) == 1
    monkeypatch.undo()
    assert publish(paths, new.release_id, verify=verify).current == new.release_id


def test_one_at_a_time(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    judge(paths, release)
    refused = []

    def other() -> None:
        try:
            publish(paths, release.release_id, wait_seconds=0.1, verify=verify)
        except BuildBusy as error:
            refused.append(str(error))

    with publish_lock(paths):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "is publishing" in refused[0]
    assert read_current(paths) is None


def test_compare_and_swap(paths: CollectionPaths) -> None:
    first, second = make_release(paths, "s1").release_id, make_release(paths, "s2").release_id
    swap(paths, first, expected=None)
    with pytest.raises(ReleaseRefused, match=f"void: {first} is in service now, not nothing"):
        swap(paths, second, expected=None)
    write_text(paths.current, second + "\n")  # someone else
    with pytest.raises(ReleaseRefused, match="void"):
        swap(paths, second, expected=first)


def test_champion(paths: CollectionPaths) -> None:
    release = make_release(paths, "s1")
    assert read_champion(paths) is None
    pin_champion(paths, release.release_id)
    assert read_champion(paths) == release.release_id
    with pytest.raises(UnknownName):
        pin_champion(paths, "0" * 20)
    pin_champion(paths, None)
    pin_champion(paths, None)
    assert read_champion(paths) is None
