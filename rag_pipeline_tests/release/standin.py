"""Stand-in builds: a real manifest over three small files, and a verifier that compares just those."""

from collections.abc import Mapping
from pathlib import Path

from rag_pipeline.checks import CheckResult
from rag_pipeline.errors import CorruptBuild
from rag_pipeline.index.build_key import FORMAT_VERSION, INDEX_VERSION, build_key
from rag_pipeline.index.manifest import Manifest, check_sizes, file_entries, file_hash, read_manifest, write_manifest
from rag_pipeline.index.verify import Problem
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.create import create_release
from rag_pipeline.release.publish import publish
from rag_pipeline.release.structural import structural_checks
from rag_pipeline.release.verdict import structural_verdict, write_verdict
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.schema import Release
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline.settings.strategy import StrategySettings

EMBEDDER: dict[str, str | int] = {
    "fingerprint": "words-64-256",
    "model": "words",
    "runtime": "fake",
    "dimension": 64,
    "max_tokens": 256,
    "query_prefix": "",
}
OWN = CollectionSettings()


def settings(weight: float = 0.6) -> Settings:
    return Settings(strategies={"hybrid": StrategySettings(vector_weight=weight)}, default_strategy="hybrid")


def make_build(paths: CollectionPaths, snapshot: str, *, chunks: int = 3) -> str:
    """A build of that snapshot; returns its key."""
    inputs = {"snapshot_key": snapshot, "chunking_key": "c" * 20, "vectors_key": "v" * 20, "default_access": "public"}
    key = build_key(fingerprint=str(EMBEDDER["fingerprint"]), settings=IndexSettings(), **inputs)
    folder = paths.build(key)
    folder.mkdir(parents=True)
    (folder / "index.duckdb").write_bytes(snapshot.encode() * 100)
    (folder / "vectors.npy").write_bytes(b"\x01" * 64)
    (folder / "postings").mkdir()
    (folder / "postings" / "weights.npy").write_bytes(b"\x02" * 32)
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        build_key=key,
        created="2026-01-01T00:00:00Z",
        embedder=EMBEDDER,
        settings=IndexSettings().model_dump(mode="json"),
        counts={"documents": 2, "sections": 2, "chunks": chunks, "terms": 5, "postings": 9, "ledger": 2},
        versions={"index": INDEX_VERSION},
        files=file_entries(folder),
        **inputs,
    )
    write_manifest(folder, manifest)
    return key


def make_release(paths: CollectionPaths, snapshot: str, *, weight: float = 0.6, chunks: int = 3) -> Release:
    """A release of a new build of that snapshot, or of the one that is there."""
    found = [p.name for p in paths.builds.glob("*") if read_manifest(p).snapshot_key == snapshot]
    key = found[0] if found else make_build(paths, snapshot, chunks=chunks)
    return create_release(
        paths, collection=paths.root.name, build_key=key, embedder=EMBEDDER, settings=settings(weight)
    )


def judge(paths: CollectionPaths, release: Release) -> None:
    store_structural_verdict(
        paths, release.release_id, structural_checks(paths, release.release_id, OWN, verify=verify)
    )


def store_structural_verdict(paths: CollectionPaths, release_id: str, checks: Mapping[str, CheckResult]) -> None:
    """By structural checks alone, against the release in service."""
    verdict = structural_verdict(release_id, baseline=read_current(paths), checks=checks)
    write_verdict(paths.release(release_id), verdict)


def publish_new(paths: CollectionPaths, snapshot: str) -> Release:
    """Make a release, judge it against the one in service and publish it."""
    release = make_release(paths, snapshot)
    judge(paths, release)
    publish(paths, release.release_id, verify=verify)
    return release


def damage(paths: CollectionPaths, build_key: str) -> None:
    """Flip one byte; the size stays, so only a deep check sees it."""
    file = paths.build(build_key) / "index.duckdb"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))


def cut(paths: CollectionPaths, build_key: str) -> None:
    """Lose the last byte; a quick check sees it."""
    file = paths.build(build_key) / "vectors.npy"
    file.write_bytes(file.read_bytes()[:-1])


def verify(folder: Path, *, deep: bool = True) -> tuple[Problem, ...]:
    try:
        manifest = read_manifest(folder)
        check_sizes(folder, manifest)
    except CorruptBuild as error:
        return (Problem("manifest.json", str(error)),)
    if not deep:
        return ()
    return tuple(
        Problem(name, "has another checksum")
        for name, entry in manifest.files.items()
        if file_hash(folder / name) != entry.sha256
    )
