"""Finding and reading the releases of a collection; nothing here changes any."""

from rag_pipeline.advice import advised
from rag_pipeline.errors import CorruptBuild, UnknownName
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.release_file import RELEASE_ID, read_pointer, read_release
from rag_pipeline.schema import Release
from rag_pipeline.settings.base import suggestion


def release_ids(paths: CollectionPaths) -> tuple[str, ...]:
    """Ids of all stored releases, readable or not, sorted."""
    if not paths.releases.is_dir():
        return ()
    return tuple(sorted(p.name for p in paths.releases.iterdir() if RELEASE_ID.fullmatch(p.name) and p.is_dir()))


def check_known(paths: CollectionPaths, release_id: str) -> None:
    """Raises UnknownName where no release of that id is stored."""
    known = release_ids(paths)
    if release_id not in known:
        raise UnknownName(
            f"unknown release {release_id!r}{suggestion(release_id, known)}; known: {', '.join(known) or 'none'}"
        )


def load_release(paths: CollectionPaths, release_id: str) -> Release:
    """Raises UnknownName where there is none of that id, CorruptBuild where its file is not that release's."""
    check_known(paths, release_id)
    release = read_release(paths.release(release_id))
    if release.release_id != release_id:
        raise CorruptBuild(
            f"{paths.release(release_id)} holds release {release.release_id}; go back to a good one with "
            f"{advised(paths, 'release rollback')}"
        )
    return release


def read_champion(paths: CollectionPaths) -> str | None:
    """The pinned release that candidates are also measured against; None where nobody pinned one."""
    return read_pointer(paths.champion, repin(paths))


def repin(paths: CollectionPaths) -> str:
    """What to do about a champion that can't be read."""
    return f"pin another or unpin it with {advised(paths, 'release champion')}"
