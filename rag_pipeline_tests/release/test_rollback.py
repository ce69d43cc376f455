import pytest

from rag_pipeline.errors import NoRelease, ReleaseRefused, UnknownName
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import read_history
from rag_pipeline.release.publish import publish
from rag_pipeline.release.rollback import RolledBack, rollback
from rag_pipeline.release.stored import load_release
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline_tests.release.standin import damage, judge, make_release, publish_new, verify


def three(paths: CollectionPaths) -> tuple[str, str, str]:
    a, b, c = (publish_new(paths, s).release_id for s in ("s1", "s2", "s3"))
    return a, b, c


def build_of(paths: CollectionPaths, release_id: str) -> str:
    return load_release(paths, release_id).build_key


def test_back_and_back_again(paths: CollectionPaths) -> None:
    a, b, c = three(paths)
    assert rollback(paths, verify=verify, reason="slow", who="ada@host") == RolledBack(c, b)
    assert rollback(paths, verify=verify) == RolledBack(b, a)
    with pytest.raises(NoRelease, match="was in service before"):
        rollback(paths, verify=verify)
    assert read_current(paths) == a
    change = read_history(paths)[-2]
    assert (change.action, change.release_id, change.previous, change.reason, change.who) == (
        "rolled_back",
        b,
        c,
        "slow",
        "ada@host",
    )


def test_to_a_named_one_and_forward(paths: CollectionPaths) -> None:
    a, _, c = three(paths)
    assert rollback(paths, a, verify=verify) == RolledBack(c, a)
    assert rollback(paths, c, verify=verify) == RolledBack(a, c)
    assert rollback(paths, c, verify=verify) == RolledBack(c, c)


def test_a_corrupt_one_is_skipped(paths: CollectionPaths) -> None:
    """The size is unchanged: only reading every byte again finds it, before and not after it is served."""
    a, b, c = three(paths)
    damage(paths, build_of(paths, b))
    assert rollback(paths, verify=verify) == RolledBack(c, a, skipped=(b,))
    assert read_current(paths) == a


def test_a_corrupt_one_asked_for_is_refused_naming_the_next(paths: CollectionPaths) -> None:
    a, b, c = three(paths)
    damage(paths, build_of(paths, b))
    with pytest.raises(ReleaseRefused, match=rf"{b} does not verify: .*index\.duckdb.*the next good one is {a}"):
        rollback(paths, b, verify=verify)
    damage(paths, build_of(paths, a))
    with pytest.raises(ReleaseRefused, match="no other release verifies"):
        rollback(paths, b, verify=verify)
    with pytest.raises(NoRelease, match="verifies; run `rag-pipeline reindex -c wiki`"):
        rollback(paths, verify=verify)
    assert read_current(paths) == c


def test_a_corrupt_release_in_service_falls_back(paths: CollectionPaths) -> None:
    _, b, c = three(paths)
    damage(paths, build_of(paths, c))
    (paths.release(c) / "release.json").unlink()
    assert rollback(paths, verify=verify) == RolledBack(c, b)


@pytest.mark.parametrize("content", ["", "garbage\n", None])
def test_a_damaged_pointer_is_repaired(paths: CollectionPaths, content: str | None) -> None:
    _, _, c = three(paths)
    if content is None:
        paths.current.unlink()
    else:
        paths.current.write_text(content)
    assert rollback(paths, verify=verify) == RolledBack(None, c)
    assert read_current(paths) == c


def test_what_never_served_is_not_gone_back_to(paths: CollectionPaths) -> None:
    """Otherwise rolling back would be a way around the verdict."""
    three(paths)
    candidate = make_release(paths, "s9")
    judge(paths, candidate)
    with pytest.raises(ReleaseRefused, match="was never in service; publish it instead"):
        rollback(paths, candidate.release_id, verify=verify)
    with pytest.raises(UnknownName):
        rollback(paths, "0" * 20, verify=verify)


def test_nothing_published(paths: CollectionPaths) -> None:
    make_release(paths, "s1")
    with pytest.raises(NoRelease, match="wiki: no release was in service before; run `rag-pipeline reindex -c wiki`"):
        rollback(paths, verify=verify)


def test_what_was_rolled_back_from_does_not_come_back_by_itself(paths: CollectionPaths) -> None:
    """Unchanged sources make the same release again every night; without this it would undo the rollback."""
    _, b, c = three(paths)
    rollback(paths, verify=verify, reason="wrong answers")
    judge(paths, load_release(paths, c))
    with pytest.raises(ReleaseRefused, match=r"was rolled back on .*wrong answers.*publish .* -c wiki`"):
        publish(paths, c, verify=verify)
    assert read_current(paths) == b
    assert publish(paths, c, force_reason="the source was mended", verify=verify).current == c
    rollback(paths, b, verify=verify)
    fresh = publish_new(paths, "s4").release_id
    assert read_current(paths) == fresh
