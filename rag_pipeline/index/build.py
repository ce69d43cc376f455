"""One immutable build: made in a temporary folder, verified there, then renamed into place; never written again.

What goes into the files is `load.py`'s business, whether they are right is `verify.py`'s.
"""

import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import duckdb

from rag_pipeline.durable import TEMPORARY, fsync_file, fsync_folder
from rag_pipeline.errors import CorruptBuild
from rag_pipeline.index.build_key import FORMAT_VERSION, INDEX_VERSION, build_key
from rag_pipeline.index.files import LISTS, POSTINGS, RECORDS
from rag_pipeline.index.inputs import Inputs
from rag_pipeline.index.lease import hold_exclusive, try_exclusive
from rag_pipeline.index.load import fill
from rag_pipeline.index.manifest import Manifest, build_files, file_entries, read_manifest, write_manifest
from rag_pipeline.index.verify import Problem, verify_build
from rag_pipeline.schema import Progress
from rag_pipeline.settings.build import IndexSettings

CORRUPT = ".corrupt-"
STEPS = ("load", "verify", "publish")


@dataclass(frozen=True, slots=True)
class BuildInfo:
    key: str
    folder: Path
    reused: bool
    """An intact build of this key was there already."""
    documents: int
    sections: int
    chunks: int
    seconds: float
    problems: tuple[Problem, ...] = ()
    """What was wrong with the earlier build of this key that this one replaces."""


def build_index(
    snapshot: Path,
    chunking: Path,
    vectors: Path,
    *,
    settings: IndexSettings,
    embedder: Mapping[str, str | int],
    builds: Path,
    default_access: Literal["public", "restricted"] = "public",
    verify: Callable[[Path], Sequence[Problem]] = verify_build,
    progress: Callable[[Progress], None] | None = None,
) -> BuildInfo:
    """Build from the three stage folders, whose names are their keys, or return the intact build of the same inputs.

    `verify` says whether a build is intact, one that is there already as the new one; it must compare the contents of
    one it never saw.
    A damaged build of the same key is moved aside to `.corrupt-<key>-<n>` and made again. A failure leaves nothing
    behind. Raises InvalidSource for stages that don't fit together, IncompatibleBuild for vectors of another dimension,
    CorruptBuild where what was written does not verify, and OSError (disk full).
    """
    started = time.monotonic()
    inputs = Inputs(snapshot, chunking, vectors)
    fingerprint = str(embedder["fingerprint"])
    inputs.check(fingerprint=fingerprint)
    key = build_key(
        snapshot_key=snapshot.name,
        chunking_key=chunking.name,
        vectors_key=vectors.name,
        fingerprint=fingerprint,
        settings=settings,
        default_access=default_access,
    )
    builds.mkdir(parents=True, exist_ok=True)
    remove_stale(builds)
    target = builds / key
    report = _reporter(progress, started)
    with hold_exclusive(builds / f".{key}.lock"):  # a second builder of the same key waits, and finds this one's build
        problems = tuple(verify(target)) if target.exists() else ()
        if target.exists() and not problems:
            return _info(target, started, reused=True)
        with _temporary_folder(builds) as folder:
            report(0)
            _write(folder, inputs, key, settings=settings, embedder=embedder, default_access=default_access)
            report(1)
            if found := verify(folder):
                listed = "; ".join(f"{p.file}: {p.message}" for p in found[:5])
                raise CorruptBuild(f"the new build does not verify ({listed}); check disk space and the earlier stages")
            report(2)
            _flush(folder)
            if target.exists():
                target.rename(_aside(builds, key))
            folder.rename(target)
            fsync_folder(builds)
            report(3)
    return _info(target, started, reused=False, problems=problems)


def remove_stale(builds: Path) -> None:
    """Remove temporary folders whose builder is dead: nobody holds their lock."""
    for lock in builds.glob(f"{TEMPORARY}*.lock"):
        lease = try_exclusive(lock)
        if lease is not None:
            with lease:
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink(missing_ok=True)


@contextmanager
def _temporary_folder(builds: Path) -> Iterator[Path]:
    """A new folder that only this call knows, gone afterwards unless it was renamed."""
    folder = builds / f"{TEMPORARY}{uuid.uuid4().hex}"
    lock = folder.with_name(folder.name + ".lock")
    with hold_exclusive(lock):  # before the folder: whoever sees it unlocked may remove it
        try:
            folder.mkdir()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)


def _write(
    folder: Path,
    inputs: Inputs,
    key: str,
    *,
    settings: IndexSettings,
    embedder: Mapping[str, str | int],
    default_access: str,
) -> None:
    versions = {"index": INDEX_VERSION, "duckdb": duckdb.__version__, "rag_pipeline": version("rag-pipeline")}
    info = {
        "build_key": key,
        "format_version": str(FORMAT_VERSION),
        "default_access": default_access,
        "snapshot_key": inputs.snapshot.name,
        "chunking_key": inputs.chunking.name,
        "vectors_key": inputs.vectors.name,
        **{f"embedder.{name}": str(value) for name, value in embedder.items()},
        **{f"settings.{name}": str(value) for name, value in settings.model_dump(mode="json").items()},
        **{f"version.{name}": value for name, value in versions.items()},
    }
    counts = fill(
        folder,
        inputs,
        settings=settings,
        dimension=int(embedder["dimension"]),
        model=str(embedder["model"]),
        info=info,
    )
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        build_key=key,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        snapshot_key=inputs.snapshot.name,
        chunking_key=inputs.chunking.name,
        vectors_key=inputs.vectors.name,
        default_access=default_access,
        embedder=dict(embedder),
        settings=settings.model_dump(mode="json"),
        counts=counts,
        versions=versions,
        files=file_entries(folder),
    )
    write_manifest(folder, manifest)


def _flush(folder: Path) -> None:
    for name in (*build_files(folder), "manifest.json"):
        fsync_file(folder / name)
    for part in (POSTINGS, RECORDS, LISTS):
        if (folder / part).is_dir():
            fsync_folder(folder / part)
    fsync_folder(folder)


def _aside(builds: Path, key: str) -> Path:
    number = 1
    while (path := builds / f"{CORRUPT}{key}-{number}").exists():
        number += 1
    return path


def _info(target: Path, started: float, *, reused: bool, problems: tuple[Problem, ...] = ()) -> BuildInfo:
    manifest = read_manifest(target)
    return BuildInfo(
        key=manifest.build_key,
        folder=target,
        reused=reused,
        documents=manifest.documents,
        sections=manifest.sections,
        chunks=manifest.chunks,
        seconds=time.monotonic() - started,
        problems=problems,
    )


def _reporter(progress: Callable[[Progress], None] | None, started: float) -> Callable[[int], None]:
    def report(done: int) -> None:
        if progress is not None:
            note = STEPS[done] if done < len(STEPS) else ""
            progress(Progress("index", done, len(STEPS), time.monotonic() - started, note))

    return report
