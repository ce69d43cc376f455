"""Removing exported models that no release of any collection names; only on request, since collections share them."""

from contextlib import ExitStack
from dataclasses import dataclass

from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.release.lock import build_lock, publish_lock
from rag_pipeline.release.stored import load_release, release_ids
from rag_pipeline.release.trash import Trash


@dataclass(frozen=True, slots=True)
class Pruned:
    fingerprints: tuple[str, ...]
    bytes_freed: int
    dry_run: bool


def prune_models(home: Home, *, dry_run: bool = False, wait_seconds: float | None = 30.0) -> Pruned:
    """Remove models that no stored release and no latest candidate build names.

    A removed model is exported again when a re-index needs it; vectors in the cache stay. Raises CorruptBuild where a
    release or build can't be read, since the model it needs is then unknown; BuildBusy while a collection is building,
    which may have exported a model that nothing names yet.
    """
    collections = [home.collection(p.parent.name) for p in sorted(home.root.glob("*/releases")) if p.is_dir()]
    with ExitStack() as locks:
        for paths in collections:
            locks.enter_context(build_lock(paths, wait_seconds=0))
            locks.enter_context(publish_lock(paths, wait_seconds=wait_seconds))
        named = {fingerprint for paths in collections for fingerprint in _named(paths)}
        trash = Trash(dry_run=dry_run)
        models = sorted(home.models.iterdir()) if home.models.is_dir() else []
        removed = tuple(
            folder.name
            for folder in models
            if folder.is_dir() and not folder.name.startswith(".") and folder.name not in named and trash.put(folder)
        )
        trash.empty()
    return Pruned(removed, trash.bytes, dry_run)


def _named(paths: CollectionPaths) -> set[str]:
    named = {str(load_release(paths, release_id).embedder["fingerprint"]) for release_id in release_ids(paths)}
    candidate = paths.latest("candidate_build")
    if candidate.is_file() and paths.build(key := candidate.read_text("utf-8").strip()).is_dir():
        named.add(str(read_manifest(paths.build(key)).embedder["fingerprint"]))
    return named
