"""Moving the two pointers, CURRENT and CHAMPION; when they may move is decided by the callers."""

from rag_pipeline.durable import fsync_folder, write_text
from rag_pipeline.errors import CorruptBuild, ReleaseRefused
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import record
from rag_pipeline.release.lock import publish_lock
from rag_pipeline.release.stored import load_release, read_champion
from rag_pipeline.retrieval.release_file import read_current


def swap(paths: CollectionPaths, release_id: str, *, expected: str | None) -> None:
    """Let CURRENT name `release_id`, if it still names `expected`; call under the publish lock.

    Raises ReleaseRefused where it names another.
    """
    found = read_current(paths)
    if found != expected:
        raise ReleaseRefused(
            f"void: {found or 'nothing'} is in service now, not {expected or 'nothing'}; evaluate {release_id} again"
        )
    point_to(paths, release_id)


def point_to(paths: CollectionPaths, release_id: str) -> None:
    """Let CURRENT name `release_id` whatever it holds; readers see the old line or the new one."""
    write_text(paths.current, release_id + "\n")


def pin_champion(
    paths: CollectionPaths,
    release_id: str | None,
    *,
    reason: str = "no reason given",
    who: str | None = None,
    wait_seconds: float | None = 30.0,
) -> str | None:
    """Pin the release that every candidate is also measured against, and that gc keeps; None unpins.

    Returns what was pinned before. A change is recorded in the history; pinning what is pinned, or unpinning nothing,
    is none. Raises UnknownName, CorruptBuild, BuildBusy.
    """
    with publish_lock(paths, wait_seconds=wait_seconds):
        before = _pinned(paths)
        if release_id is None:
            paths.champion.unlink(missing_ok=True)
            fsync_folder(paths.releases)
        else:
            load_release(paths, release_id)
            write_text(paths.champion, release_id + "\n")
        if before != release_id:
            record(
                paths,
                "pinned" if release_id is not None else "unpinned",
                release_id or str(before),
                previous=before,
                reason=reason,
                who=who,
            )
    return before


def _pinned(paths: CollectionPaths) -> str | None:
    """What is pinned now; a damaged pointer is replaced like any other."""
    try:
        return read_champion(paths)
    except CorruptBuild:
        return "unreadable"
