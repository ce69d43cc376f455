"""The release in service, opened once a process and kept until CURRENT names another.

A call keeps the release it began with: the old build is closed, and its lease given back, when the last call that uses
it has ended.
"""

import threading
import weakref
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.advice import advised, mend
from rag_pipeline.errors import CorruptBuild, IncompatibleBuild, NoRelease, UnknownName
from rag_pipeline.index.lease import Lease, hold
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval.legs import LEGS, Legs
from rag_pipeline.retrieval.release_file import read_current, read_release
from rag_pipeline.schema import Release
from rag_pipeline.settings.base import suggestion
from rag_pipeline.settings.collection import NAME, RESERVED_COLLECTIONS

MAKE_ONE = "run `rag-pipeline reindex -c NAME`, with --source FOLDER unless the settings name its sources"


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class OpenRelease:
    release: Release
    index: Index
    legs: Legs = LEGS


_open: dict[Path, OpenRelease] = {}
_lock = threading.Lock()


def open_current(paths: CollectionPaths) -> OpenRelease:
    """The release that CURRENT names at this moment.

    Raises NoRelease before the first publish, CorruptBuild and IncompatibleBuild where it can't be served.
    """
    root = paths.root.resolve()
    with _lock:
        for last_try in (False, True):
            name = read_current(paths)
            if name is None:
                raise NoRelease(f"{paths.root.name}: no release is in service yet; run {advised(paths, 'reindex')}")
            opened = _open.get(root)
            if opened is not None and opened.release.release_id == name:
                return opened
            try:
                _open[root] = open_release(paths, name)
            except CorruptBuild:
                # gc may have removed a build whose release was replaced between our two steps.
                if last_try or read_current(paths) == name:
                    raise
        return _open[root]


def open_release(paths: CollectionPaths, release_id: str) -> OpenRelease:
    """Any stored release, held by a lease as long as it is referenced; not cached. Raises as `open_current`."""
    release = read_release(paths.release(release_id))
    lease = hold(paths.lease(release.build_key))  # first the lease, then the build: gc removes under the exclusive one
    try:
        index = open_build(paths.build(release.build_key))
    except BaseException:
        lease.close()
        raise
    opened = OpenRelease(release, index)
    weakref.finalize(opened, _close, index, lease)
    built, queried = index.manifest.embedder["fingerprint"], release.embedder_fingerprint
    if built != queried:
        raise IncompatibleBuild(
            f"release {release_id} embeds queries by {queried}, its build {release.build_key} was embedded by {built};"
            f" {mend(paths)}"
        )
    return opened


def existing_collection(home: Home, name: str) -> CollectionPaths:
    """Raises UnknownName that lists the collections under the data directory."""
    known = collections(home)
    if name not in known:
        raise UnknownName(
            f"unknown collection {name!r}{suggestion(name, known)}; under {home.root}: {', '.join(known) or 'none'};"
            f" name one with -c {known[0] if len(known) == 1 else 'NAME'}; to make one, {MAKE_ONE}"
        )
    return home.collection(name)


def nothing_indexed(home: Home) -> str:
    """What to say where the data directory has no collection."""
    return f"nothing is indexed under {home.root} yet; {MAKE_ONE}; `rag-pipeline demo` shows how it works"


def collections(home: Home) -> tuple[str, ...]:
    """Names of the collections under the data directory, served or not."""
    if not home.root.is_dir():
        return ()
    names = (p.name for p in home.root.iterdir() if NAME.fullmatch(p.name) and p.is_dir())
    return tuple(sorted(name for name in names if name not in RESERVED_COLLECTIONS))


def forget() -> None:
    """Close what no call uses any more, for tests and for a process that stops serving."""
    with _lock:
        _open.clear()


def _close(index: Index, lease: Lease) -> None:
    index.close()
    lease.close()
