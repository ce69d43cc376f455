"""What is stored and what is in service, as rows for people and programs. Reads only."""

from dataclasses import asdict, dataclass

from rag_pipeline.errors import CorruptBuild, IncompatibleBuild, ReleaseRefused
from rag_pipeline.index.manifest import Manifest, read_manifest
from rag_pipeline.index.verify import verify_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import Change, read_all_changes, read_history, withdrawn
from rag_pipeline.release.sizes import size_of
from rag_pipeline.release.stored import load_release, read_champion, release_ids
from rag_pipeline.release.variant_mark import is_variant
from rag_pipeline.release.verdict import read_verdict
from rag_pipeline.release.verify import State, VerifyBuild, in_service, release_state
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.schema import Release


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    release_id: str
    current: bool
    champion: bool
    state: State
    build_key: str | None
    """None where release.json can't be read; the counts are None where the manifest can't."""
    documents: int | None
    chunks: int | None
    bytes: int | None
    """Size of the build; releases may share one."""
    verdict: str
    """"publish", "refuse", "none" or "unreadable"."""
    withdrawn: bool
    """A rollback took it out of service."""
    created: str | None
    variant: bool
    """Made to be compared, no candidate; gc may take it."""


@dataclass(frozen=True, slots=True)
class Status:
    current: str | None
    state: State | None
    build_key: str | None
    snapshot: str | None
    """Corpus snapshot that the release in service was built from."""
    latest_snapshot: str | None
    """Corpus snapshot read last."""
    stale: bool | None
    """Whether the two differ; None where one of them is not known."""
    since: str | None
    """When it came into service."""


def list_releases(paths: CollectionPaths, *, verify: VerifyBuild = verify_build) -> tuple[ReleaseRow, ...]:
    """Every stored release, newest first, those without a readable date last."""
    current, champion = _pointers(paths)
    rows = [_row(paths, release_id, current, champion, verify) for release_id in release_ids(paths)]
    return tuple(sorted(rows, key=lambda row: (row.created or "", row.release_id), reverse=True))


def status(paths: CollectionPaths, *, verify: VerifyBuild = verify_build) -> Status:
    """What is in service, and whether the sources were read anew since it was built."""
    current, _ = _pointers(paths)
    known = current in release_ids(paths)
    release = _release(paths, current) if current and known else None
    manifest = _manifest(paths, release) if release else None
    snapshot = manifest.snapshot_key if manifest else None
    latest = _latest(paths)
    return Status(
        current=current,
        state=None if current is None else release_state(paths, current, verify=verify) if known else "corrupt",
        build_key=release.build_key if release else None,
        snapshot=snapshot,
        latest_snapshot=latest,
        stale=None if snapshot is None or latest is None else snapshot != latest,
        since=_since(read_history(paths), current),
    )


def describe(
    paths: CollectionPaths, release_id: str | None = None, *, verify: VerifyBuild = verify_build
) -> dict[str, object]:
    """One release in full, as plain values; None = the one in service. Raises UnknownName, NoRelease, CorruptBuild."""
    chosen = release_id or in_service(paths)
    release = load_release(paths, chosen)
    row = _row(paths, chosen, *_pointers(paths), verify)
    verdict, why = _verdict(paths, chosen)
    return {
        **asdict(row),
        "embedder": dict(release.embedder),
        "strategies": {name: dict(strategy) for name, strategy in release.strategies.items()},
        "default_strategy": release.default_strategy,
        "contexts": {name: dict(context) for name, context in release.contexts.items()},
        "calibration": release.calibration,
        "verdict": {"decision": verdict, "reason": why},
        "history": [asdict(change) for change in read_all_changes(paths) if change.release_id == chosen],
    }


def _row(
    paths: CollectionPaths, release_id: str, current: str | None, champion: str | None, verify: VerifyBuild
) -> ReleaseRow:
    release = _release(paths, release_id)
    manifest = _manifest(paths, release) if release else None
    build = paths.build(release.build_key) if release else None
    return ReleaseRow(
        release_id=release_id,
        current=release_id == current,
        champion=release_id == champion,
        state=release_state(paths, release_id, verify=verify),
        build_key=release.build_key if release else None,
        documents=manifest.documents if manifest else None,
        chunks=manifest.chunks if manifest else None,
        bytes=size_of(build) if build and build.is_dir() else None,
        verdict=_verdict(paths, release_id)[0],
        withdrawn=release_id in withdrawn(read_history(paths)),
        created=release.created if release else None,
        variant=is_variant(paths.release(release_id)),
    )


def _pointers(paths: CollectionPaths) -> tuple[str | None, str | None]:
    """CURRENT and CHAMPION; a damaged one names nothing here, and is an error where it is used."""
    found: list[str | None] = []
    for read in (read_current, read_champion):
        try:
            found.append(read(paths))
        except CorruptBuild:
            found.append(None)
    return found[0], found[1]


def _release(paths: CollectionPaths, release_id: str) -> Release | None:
    try:
        return load_release(paths, release_id)
    except CorruptBuild:
        return None


def _manifest(paths: CollectionPaths, release: Release) -> Manifest | None:
    try:
        return read_manifest(paths.build(release.build_key))
    except (CorruptBuild, IncompatibleBuild):
        return None


def _verdict(paths: CollectionPaths, release_id: str) -> tuple[str, str]:
    try:
        verdict = read_verdict(paths.release(release_id))
    except ReleaseRefused as error:
        return "unreadable", str(error)
    return (verdict.decision, verdict.reason) if verdict else ("none", "not evaluated yet")


def _latest(paths: CollectionPaths) -> str | None:
    try:
        return paths.latest("snapshots").read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None


def _since(changes: tuple[Change, ...], current: str | None) -> str | None:
    return changes[-1].at if changes and changes[-1].release_id == current else None
