"""Going back to a release that was in service before, after reading its whole build again."""

from dataclasses import dataclass

from rag_pipeline.advice import advised
from rag_pipeline.errors import CorruptBuild, NoRelease, ReleaseRefused
from rag_pipeline.index.verify import verify_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import catch_up, last_served, read_history, record, served
from rag_pipeline.release.lock import publish_lock
from rag_pipeline.release.pointer import point_to
from rag_pipeline.release.stored import check_known, release_ids
from rag_pipeline.release.verify import VerifyBuild, failures, verify_release
from rag_pipeline.retrieval.release_file import read_current


@dataclass(frozen=True, slots=True)
class RolledBack:
    previous: str | None
    """What was in service before; None where CURRENT named no release."""
    current: str
    skipped: tuple[str, ...] = ()
    """Releases in between that no longer verify."""


def rollback(
    paths: CollectionPaths,
    release_id: str | None = None,
    *,
    reason: str = "",
    who: str | None = None,
    wait_seconds: float | None = 30.0,
    verify: VerifyBuild = verify_build,
) -> RolledBack:
    """Serve `release_id` again, or the last good release before the current one.

    Only what was in service before can be gone back to: everything else is published, under a verdict. A CURRENT that
    names no release is repaired. Raises NoRelease where there is nothing to go back to, UnknownName, BuildBusy, and
    ReleaseRefused where `release_id` does not verify, naming the next good one.
    """
    if release_id is not None:
        check_known(paths, release_id)
    with publish_lock(paths, wait_seconds=wait_seconds):
        catch_up(paths)
        current = _current(paths)
        changes = read_history(paths)
        earlier = tuple(r for r in served(changes) if r != current)
        if release_id is None:
            target, skipped = _first_good(paths, earlier, verify)
            if target is None:
                what = "that was in service before verifies" if earlier else "was in service before"
                raise NoRelease(
                    f"{paths.root.name}: no release {what}; run {advised(paths, 'reindex')}, "
                    "which makes a damaged release again or publishes a new one"
                )
        else:
            target, skipped = release_id, ()
            if release_id == current:
                return RolledBack(previous=current, current=current)
            if release_id not in last_served(changes):
                raise ReleaseRefused(f"release {release_id} was never in service; publish it instead")
            if broken := failures(verify_release(paths, release_id, deep=True, verify=verify)):
                good, _ = _first_good(paths, tuple(r for r in earlier if r != release_id), verify)
                raise ReleaseRefused(f"release {release_id} does not verify: {broken}; {_advice(good)}")
        point_to(paths, target)
        record(paths, "rolled_back", target, previous=current, reason=reason, who=who)
    return RolledBack(previous=current, current=target, skipped=skipped)


def _current(paths: CollectionPaths) -> str | None:
    """What CURRENT names; None where it is missing or holds no id, which going back repairs."""
    try:
        return read_current(paths)
    except CorruptBuild:
        return None


def _first_good(
    paths: CollectionPaths, candidates: tuple[str, ...], verify: VerifyBuild
) -> tuple[str | None, tuple[str, ...]]:
    """The first that is stored and verifies, and those stored that don't."""
    skipped: list[str] = []
    stored = release_ids(paths)
    for candidate in candidates:
        if candidate not in stored:
            continue
        if not failures(verify_release(paths, candidate, deep=True, verify=verify)):
            return candidate, tuple(skipped)
        skipped.append(candidate)
    return None, tuple(skipped)


def _advice(good: str | None) -> str:
    return f"the next good one is {good}" if good else "no other release verifies; publish another"
