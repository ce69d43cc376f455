"""What is kept, and removing the rest. Removing one thing safely is `trash`'s; what collections share is not touched.

Kept are the release in service, the champion, the latest candidate, and the last `keep` good releases: those that were
in service come first, so that candidates the gate refused never push out what one could go back to. Of builds: those a
kept release names, the latest candidate's, and whatever a reader holds.
"""

from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.advice import mend
from rag_pipeline.errors import BuildBusy, CorruptBuild, InvalidSettings, UnknownName
from rag_pipeline.index.lease import is_held
from rag_pipeline.index.manifest import MANIFEST
from rag_pipeline.index.verify import verify_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import catch_up, last_served, read_history
from rag_pipeline.release.lock import build_lock, publish_lock
from rag_pipeline.release.stored import load_release, read_champion, release_ids, repin
from rag_pipeline.release.trash import Trash, leftovers
from rag_pipeline.release.variant_mark import is_variant
from rag_pipeline.release.verify import VerifyBuild, release_state
from rag_pipeline.retrieval.release_file import RELEASE_ID, read_current
from rag_pipeline.schema import Release

STALE_SECONDS = 3600.0
STAGED = {"snapshots": "snapshots", "chunkings": "chunkings", "vectors": "vectors"}
"""Folder under staging, and the name of the file that says which of its folders is the latest."""


@dataclass(frozen=True, slots=True)
class Collected:
    releases: tuple[str, ...]
    builds: tuple[str, ...]
    staging: tuple[str, ...]
    """"snapshots/<key>", ..."""
    leftovers: tuple[str, ...]
    """Unfinished, damaged or half-removed folders and files of earlier runs, relative to the collection."""
    bytes_freed: int
    held: tuple[str, ...]
    """Builds that nothing names and a reader still holds."""
    notes: tuple[str, ...]
    """What was not looked at, and why."""
    dry_run: bool


@dataclass(frozen=True, slots=True)
class _Plan:
    kept: frozenset[str]
    builds: frozenset[str]


def gc(
    paths: CollectionPaths,
    *,
    keep: int,
    dry_run: bool = False,
    stale_seconds: float = STALE_SECONDS,
    wait_seconds: float | None = 30.0,
    verify: VerifyBuild = verify_build,
) -> Collected:
    """Remove what is not kept; with `dry_run` only say what would go.

    Releases go before the builds they name, and each is renamed before it is deleted, so that a kill at any point
    leaves no release without its build. While a build is running only releases are collected. `stale_seconds`: age
    from which an unfinished or damaged folder is taken for abandoned. Raises CorruptBuild where CURRENT or the champion
    can't be read, since what they need is then unknown; InvalidSettings for `keep` < 1; BuildBusy.
    """
    if keep < 1:
        raise InvalidSettings(f"keep_releases must be at least 1, not {keep}")
    with publish_lock(paths, wait_seconds=wait_seconds):
        catch_up(paths)
        plan = _plan(paths, keep, verify)
        old = leftovers(_folders(paths), stale_seconds=stale_seconds)
        trash = Trash(dry_run=dry_run)
        releases = tuple(r for r in release_ids(paths) if r not in plan.kept and trash.put(paths.release(r)))
        notes = tuple(f"releases/{name} is not a release" for name in _strangers(paths))
        try:
            with build_lock(paths, wait_seconds=0):
                builds, held, strange = _collect_builds(paths, plan, trash)
                staging = _collect_staging(paths, trash)
                left = tuple(path.relative_to(paths.root).as_posix() for path in old if trash.put(path))
        except BuildBusy as error:
            builds, held, staging, left, strange = (), (), (), (), (f"only releases were collected: {error}",)
        trash.empty()
    return Collected(releases, builds, staging, left, trash.bytes, held, notes + strange, dry_run)


def _plan(paths: CollectionPaths, keep: int, verify: VerifyBuild) -> _Plan:
    stored = {release_id: _readable(paths, release_id) for release_id in release_ids(paths)}
    kept = set()
    pointers = (("CURRENT", read_current(paths), mend(paths)), ("CHAMPION", read_champion(paths), repin(paths)))
    for file, name, advice in pointers:
        if name is None:
            continue
        try:
            kept.add(load_release(paths, name).release_id)
        except UnknownName:
            raise CorruptBuild(f"{file} names release {name}, which is gone; {advice}") from None
    if (candidate := _line(paths.latest("candidate_release"))) in stored:
        kept.add(str(candidate))
    good = 0
    for release_id in _by_worth(paths, stored):
        if good == keep:
            break
        if release_state(paths, release_id, verify=verify) in ("good", "incompatible"):
            kept.add(release_id)
            good += 1
    readable = {release_id: release.build_key for release_id, release in stored.items() if release is not None}
    kept |= {release_id for release_id, build in readable.items() if is_held(paths.lease(build))}
    builds = {build for release_id, build in readable.items() if release_id in kept}
    if candidate_build := _line(paths.latest("candidate_build")):
        builds.add(candidate_build)
    return _Plan(frozenset(kept), frozenset(builds))


def _by_worth(paths: CollectionPaths, stored: dict[str, Release | None]) -> list[str]:
    """Those that were in service, latest first; then the others, newest first; variants are nothing to go back to."""
    served = [release_id for release_id in last_served(read_history(paths)) if release_id in stored]
    others = [
        (release.created, release_id)
        for release_id, release in stored.items()
        if release is not None and not is_variant(paths.release(release_id))
    ]
    return served + [release_id for _, release_id in sorted(others, reverse=True) if release_id not in served]


def _collect_builds(
    paths: CollectionPaths, plan: _Plan, trash: Trash
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    removed, held, strange = [], [], []
    for folder in _entries(paths.builds):
        if folder.name in plan.builds:
            continue
        if not (folder / MANIFEST).is_file():
            strange.append(f"builds/{folder.name} has no manifest, so it is not taken for a build")
        elif trash.put(folder, lease=paths.lease(folder.name)):
            removed.append(folder.name)
        else:
            held.append(folder.name)
    trash.put_lock_files(paths.builds)
    return tuple(removed), tuple(held), tuple(strange)


def _collect_staging(paths: CollectionPaths, trash: Trash) -> tuple[str, ...]:
    """Staged folders but the latest; where no file names one, all stay."""
    removed = []
    for what, pointer in STAGED.items():
        latest = _line(paths.latest(pointer))
        for folder in _entries(paths.staging / what):
            if latest is not None and folder.name != latest and trash.put(folder):
                removed.append(f"{what}/{folder.name}")
    return tuple(removed)


def _folders(paths: CollectionPaths) -> tuple[Path, ...]:
    """Where unfinished and half-removed things may lie."""
    staged = tuple(paths.staging / what for what in STAGED)
    return (paths.root, paths.builds, paths.releases, paths.staging, *staged)


def _strangers(paths: CollectionPaths) -> list[str]:
    return [folder.name for folder in _entries(paths.releases) if not RELEASE_ID.fullmatch(folder.name)]


def _entries(folder: Path) -> list[Path]:
    """Sub-folders, sorted, without the hidden ones."""
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))


def _readable(paths: CollectionPaths, release_id: str) -> Release | None:
    try:
        return load_release(paths, release_id)
    except CorruptBuild:
        return None


def _line(file: Path) -> str | None:
    try:
        return file.read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None
