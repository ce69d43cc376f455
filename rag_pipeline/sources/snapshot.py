"""A snapshot: every document of a collection's sources at one moment, immutable and named by what it holds.

Lives here: the order of things. Documents stream to Parquet one by one; only ids, hashes and the ledger are kept.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from rag_pipeline.durable import fsync_file, fsync_folder, temporary_name, write_json
from rag_pipeline.errors import InvalidSource
from rag_pipeline.file_identity import content_hash
from rag_pipeline.parquet import write_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Document, LedgerEntry, Progress
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.sources.changes import Changes, Identity, compare, read_identities
from rag_pipeline.sources.duplicates import ExactDuplicates
from rag_pipeline.sources.inputs import Inputs, Read
from rag_pipeline.sources.ledger import ReadLedger
from rag_pipeline.sources.near_duplicates import NearDuplicates, sketch_of
from rag_pipeline.sources.reuse import Earlier, KeptInput, inputs_key, keep, kept_input, read_earlier, sketch_in
from rag_pipeline.sources.scan import UNSEEN, Scan, scan_source

READER_VERSION = "1"
"""Bump by hand when the same files give other documents."""
REPORT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    key: str
    folder: Path
    counts: dict[str, int]
    """Inputs by outcome."""
    rules: dict[str, int]
    """Ledger entries, notices too, by "outcome:rule"."""
    documents: int
    """Rows of documents.parquet: indexed inputs and exact duplicates."""
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Another text, other metadata, or another canonical document."""
    moved: tuple[tuple[str, str], ...] = ()
    """(old id, new id): the same text, and nothing under the old id any more."""
    deleted: tuple[str, ...] = ()
    reused: int = 0
    """Documents whose file is as it was, so that it was not parsed again."""
    problems: tuple[str, ...] = ()
    """Why what was kept of the snapshot before could not be used."""


@dataclass(slots=True)
class _Seen:
    """What is remembered of the documents that went by."""

    identities: dict[str, Identity] = field(default_factory=dict)
    """By document id."""
    ledger: ReadLedger = field(default_factory=ReadLedger)
    kept: list[KeptInput] = field(default_factory=list)
    reused: int = 0


def take_snapshot(
    collection: CollectionSettings,
    paths: CollectionPaths,
    *,
    previous: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> SnapshotInfo:
    """Read all sources into `paths.snapshot(key)`; an existing folder of the same key is left as it is.

    Files that are, to the byte, what they were are not parsed again, and where all are, the snapshot is the last one.

    `previous` is the snapshot folder to compare with; without it, or where it is gone, everything counts as added.
    Raises InvalidSource and TooManyFailures; then nothing is left behind.
    """
    if not collection.sources and not collection.allow_empty:
        raise InvalidSource("the collection has no sources; name a folder in its `sources`, or set `allow_empty`")
    started = time.monotonic()
    limit = collection.max_file_bytes
    # By name, not in the order of the settings file, so that listing them otherwise changes nothing.
    sources = sorted(collection.sources, key=lambda s: s.name)
    data = (paths.root, paths.root.parent)
    scans = [scan_source(s, max_file_bytes=limit, allow_empty=collection.allow_empty, data=data) for s in sources]
    earlier = read_earlier(paths)
    inputs = Inputs(scans, limit=limit, earlier=earlier)
    about = _about(scans, collection)
    unchanged = earlier.snapshot is not None and inputs_key([about, *inputs.parts()]) == earlier.inputs
    if unchanged and (same := _unchanged(earlier, paths, previous)) is not None:
        if progress is not None:
            progress(Progress("documents", inputs.files, inputs.files, time.monotonic() - started))
        return same
    seen = _Seen()
    snapshots = paths.snapshot("_").parent
    snapshots.mkdir(parents=True, exist_ok=True)
    partial = temporary_name(snapshots / "snapshot")
    partial.mkdir()
    try:
        for scan in scans:
            seen.ledger.add(scan.entries)
        read = _reported(inputs.read(), inputs.files, progress)
        write_rows(partial / "documents.parquet", Document, _documents(read, collection, seen))
        seen.ledger.check_failures(collection.max_failed_share)
        info = _described(seen, paths)
        write_rows(partial / "ledger.parquet", LedgerEntry, seen.ledger.entries)
        write_json(partial / "snapshot.json", _stored(info))
        if earlier.damaged is not None:
            shutil.rmtree(earlier.damaged)
        mine = _publish(partial, info.folder)
        together = inputs_key([about, *inputs.parts_read])
        # An older folder of the same key is the snapshot of these inputs, but no source of single documents.
        keep(paths, info.folder, seen.kept if mine else (), inputs=together, info=_stored(info))
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    changes = compare(read_identities(previous), seen.identities)
    return replace(
        info,
        added=changes.added,
        changed=changes.changed,
        moved=changes.moved,
        deleted=changes.deleted,
        reused=seen.reused,
        problems=earlier.problems,
    )


def _about(scans: list[Scan], collection: CollectionSettings) -> list[object]:
    """What decides a snapshot besides the inputs that are read."""
    entries = [[astuple(entry) for entry in scan.entries] for scan in scans]
    return [collection.duplicates, collection.max_failed_share, collection.max_file_bytes, entries]


def _unchanged(earlier: Earlier, paths: CollectionPaths, previous: Path | None) -> SnapshotInfo | None:
    """What is known of the snapshot of the same inputs; None where one of them deserves another try."""
    stored = earlier.info
    folder = paths.snapshot(stored["key"])
    rules: dict[str, int] = stored["rules"]
    if any(rule.startswith("failed:") or rule == "skipped:missing_extra" for rule in rules):
        return None
    same = previous is not None and previous.name == folder.name
    found = Changes() if same else compare(read_identities(previous), read_identities(folder))
    return SnapshotInfo(
        stored["key"],
        folder,
        stored["counts"],
        rules,
        stored["documents"],
        found.added,
        found.changed,
        found.moved,
        found.deleted,
        reused=stored["documents"],
    )


def _documents(read: Iterator[Read], collection: CollectionSettings, seen: _Seen) -> Iterator[Document]:
    exact = ExactDuplicates(collection.duplicates)
    near = NearDuplicates()
    for one in read:
        document, entries = one.outcome.document, one.outcome.entries
        if seen.ledger.has(entries[0].path):
            seen.ledger.add((LedgerEntry(entries[0].path, "read", "failed", "same_id", "another input has this id"),))
            continue
        if document is None:
            seen.ledger.add(entries)
            continue
        settled = exact.settle(document, entries)
        seen.ledger.add(settled.entries)
        document = settled.document or document
        sketch = sketch_in(one.known) if one.known is not None else None
        if document.canonical_id is None:
            if sketch is None and near.looks_on:
                sketch = sketch_of(document.text)
            if relative := near.nearest(document.doc_id, document.text, sketch=sketch):
                detail = f"about {relative[1]:.0%} alike {relative[0]}"
                seen.ledger.add((LedgerEntry(document.doc_id, "read", "notice", "near_duplicate", detail),))
        if one.key is not None:
            seen.kept.append(kept_input(one.key, one.outcome, sketch))
        seen.reused += one.known is not None
        seen.identities[document.doc_id] = Identity(
            document.content_hash, document.metadata_hash, document.canonical_id
        )
        yield document
    if near.stopped:
        seen.ledger.add((LedgerEntry("", "read", "notice", "near_duplicates_capped", near.stopped),))


def _reported(read: Iterator[Read], files: int, progress: Callable[[Progress], None] | None) -> Iterator[Read]:
    """All outcomes, with a progress report now and then. A corpus file's documents are counted as they come."""
    started = last = time.monotonic()
    done = 0
    for one in read:
        yield one
        done += 1
        now = time.monotonic()
        if progress is not None and now - last >= REPORT_SECONDS:
            last = now
            progress(Progress("documents", done, max(done, files), now - started, one.outcome.entries[0].path))
    if progress is not None:
        progress(Progress("documents", done, done, time.monotonic() - started))


def _described(seen: _Seen, paths: CollectionPaths) -> SnapshotInfo:
    ledger = seen.ledger
    # Notices follow from what is in the key; unseen names come and go with every run, editor and version control.
    outcomes = sorted((e.path, e.outcome, e.rule) for e in ledger.inputs if e.rule not in UNSEEN)
    identities = [(doc_id, *astuple(identity)) for doc_id, identity in sorted(seen.identities.items())]
    text = json.dumps([READER_VERSION, identities, outcomes], ensure_ascii=False)
    key = hashlib.sha256(text.encode("utf-8")).hexdigest()[:20]
    return SnapshotInfo(key, paths.snapshot(key), ledger.counts(), ledger.rules(), len(seen.identities))


def _stored(info: SnapshotInfo) -> dict[str, object]:
    """What depends on the inputs alone: no time, and no comparison with another snapshot."""
    return {
        "key": info.key,
        "counts": info.counts,
        "rules": info.rules,
        "documents": info.documents,
        "reader_version": READER_VERSION,
    }


def _publish(partial: Path, folder: Path) -> bool:
    """Whether the folder's documents are, to the byte, the ones just read: an older one of the same key is kept."""
    mine = content_hash(partial / "documents.parquet")
    if folder.is_dir():
        return content_hash(folder / "documents.parquet") == mine
    for file in partial.iterdir():
        fsync_file(file)
    try:
        partial.rename(folder)
    except OSError:
        # Another run finished the same snapshot first; any other fault rises.
        if not folder.is_dir():
            raise
    fsync_folder(folder.parent)
    return content_hash(folder / "documents.parquet") == mine
