"""Publishing: the one way in which a new release comes into service. Going back to an earlier one is rollback's."""

from dataclasses import dataclass

from rag_pipeline.advice import advised
from rag_pipeline.errors import ReleaseRefused
from rag_pipeline.index.verify import verify_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import catch_up, read_history, record, withdrawn
from rag_pipeline.release.lock import publish_lock
from rag_pipeline.release.pointer import swap
from rag_pipeline.release.stored import load_release
from rag_pipeline.release.verdict import Verdict, read_verdict, refusal, write_verdict
from rag_pipeline.release.verify import VerifyBuild, failures, verify_release
from rag_pipeline.retrieval.release_file import read_current


@dataclass(frozen=True, slots=True)
class Published:
    previous: str | None
    """What was in service before; equal to `current` where nothing had to be done."""
    current: str


def publish(
    paths: CollectionPaths,
    release_id: str,
    *,
    verdict: Verdict | None = None,
    force_reason: str | None = None,
    who: str | None = None,
    wait_seconds: float | None = 30.0,
    verify: VerifyBuild = verify_build,
) -> Published:
    """Put a release into service, under a verdict about exactly it and exactly the release it replaces.

    A release that was rolled back from is refused: the same sources and settings make it again every night, and only a
    person can say that what was wrong with it is no longer so.

    `verdict`: read from the release's folder where None. `force_reason` goes past the verdict, never past a build that
    does not verify, and is recorded. Raises ReleaseRefused (absent, refusing or void verdict; broken build),
    UnknownName, CorruptBuild, BuildBusy; CURRENT is then as it was.
    """
    if force_reason is not None and not force_reason.strip():
        raise ReleaseRefused("a forced publish needs a reason; say why the verdict does not count")
    load_release(paths, release_id)
    with publish_lock(paths, wait_seconds=wait_seconds):
        catch_up(paths)
        baseline = read_current(paths)
        if baseline == release_id:
            return Published(previous=release_id, current=release_id)
        deep = force_reason is not None  # no verdict speaks for what is forced, so every byte is read
        if broken := failures(verify_release(paths, release_id, deep=deep, verify=verify)):
            raise ReleaseRefused(f"release {release_id} does not verify: {broken}; build the index again")
        if force_reason is not None:
            reason = f"{force_reason.strip()} (past: {_past(paths, release_id, verdict, baseline)})"
        else:
            _not_withdrawn(paths, release_id)
            reason = _allow(paths, release_id, verdict, baseline)
        swap(paths, release_id, expected=baseline)
        record(
            paths,
            "published" if force_reason is None else "forced",
            release_id,
            previous=baseline,
            reason=reason,
            who=who,
        )
    return Published(previous=baseline, current=release_id)


def _not_withdrawn(paths: CollectionPaths, release_id: str) -> None:
    """Raises ReleaseRefused for a release that a rollback took out of service."""
    if rolled := withdrawn(read_history(paths)).get(release_id):
        command = f'release publish {release_id} --force "why"'
        raise ReleaseRefused(
            f"release {release_id} was rolled back on {rolled.at} by {rolled.who} ({rolled.reason}); "
            f"change sources or settings, or put it back with {advised(paths, command)}"
        )


def _allow(paths: CollectionPaths, release_id: str, given: Verdict | None, baseline: str | None) -> str:
    """The verdict's reason. Raises ReleaseRefused unless it allows this step."""
    folder = paths.release(release_id)
    verdict = given or read_verdict(folder)
    no = refusal(verdict, release_id=release_id, baseline=baseline)
    if no is not None or verdict is None:
        raise ReleaseRefused(f"release {release_id} is not published: {no}")
    if given is not None:
        write_verdict(folder, given)  # what let it in stays with it
    return verdict.reason


def _past(paths: CollectionPaths, release_id: str, given: Verdict | None, baseline: str | None) -> str:
    """What the forced publish went past, for the record."""
    try:
        verdict = given or read_verdict(paths.release(release_id))
    except ReleaseRefused as error:
        return str(error)
    return refusal(verdict, release_id=release_id, baseline=baseline) or "a verdict that allowed it"
