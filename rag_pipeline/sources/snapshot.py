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
from rag_pipeline.parquet import write_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Document, LedgerEntry, Progress
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.sources.beir import read_corpus
from rag_pipeline.sources.changes import Identity, compare, read_identities
from rag_pipeline.sources.defaults import defaults_for
from rag_pipeline.sources.document import Outcome, read_document, refused, unsupported
from rag_pipeline.sources.duplicates import ExactDuplicates
from rag_pipeline.sources.ledger import ReadLedger
from rag_pipeline.sources.near_duplicates import NearDuplicates
from rag_pipeline.sources.reader import Refusal
from rag_pipeline.sources.registry import reader_for
from rag_pipeline.sources.scan import UNSEEN, Input, Scan, readable, scan_source

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


@dataclass(slots=True)
class _Seen:
    """What is remembered of the documents that went by."""

    identities: dict[str, Identity] = field(default_factory=dict)
    """By document id."""
    ledger: ReadLedger = field(default_factory=ReadLedger)


def take_snapshot(
    collection: CollectionSettings,
    paths: CollectionPaths,
    *,
    previous: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> SnapshotInfo:
    """Read all sources into `paths.snapshot(key)`; an existing folder of the same key is left as it is.

    `previous` is the snapshot folder to compare with; without it, or where it is gone, everything counts as added.
    Raises InvalidSource and TooManyFailures; then nothing is left behind.
    """
    if not collection.sources and not collection.allow_empty:
        raise InvalidSource("the collection has no sources; name a folder in its `sources`, or set `allow_empty`")
    limit = collection.max_file_bytes
    # By name, not in the order of the settings file, so that listing them otherwise changes nothing.
    sources = sorted(collection.sources, key=lambda s: s.name)
    data = (paths.root, paths.root.parent)
    scans = [scan_source(s, max_file_bytes=limit, allow_empty=collection.allow_empty, data=data) for s in sources]
    seen = _Seen()
    snapshots = paths.snapshot("_").parent
    snapshots.mkdir(parents=True, exist_ok=True)
    partial = temporary_name(snapshots / "snapshot")
    partial.mkdir()
    try:
        write_rows(partial / "documents.parquet", Document, _documents(scans, collection, seen, progress))
        seen.ledger.check_failures(collection.max_failed_share)
        info = _described(seen, paths)
        write_rows(partial / "ledger.parquet", LedgerEntry, seen.ledger.entries)
        write_json(partial / "snapshot.json", _stored(info))
        _publish(partial, info.folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    changes = compare(read_identities(previous), seen.identities)
    return replace(info, added=changes.added, changed=changes.changed, moved=changes.moved, deleted=changes.deleted)


def _documents(
    scans: list[Scan], collection: CollectionSettings, seen: _Seen, progress: Callable[[Progress], None] | None
) -> Iterator[Document]:
    exact = ExactDuplicates(collection.duplicates)
    near = NearDuplicates()
    for scan in scans:
        seen.ledger.add(scan.entries)
    for outcome in _reported(scans, collection.max_file_bytes, progress):
        document, entries = outcome.document, outcome.entries
        if seen.ledger.has(entries[0].path):
            seen.ledger.add((LedgerEntry(entries[0].path, "read", "failed", "same_id", "another input has this id"),))
            continue
        if document is None:
            seen.ledger.add(entries)
            continue
        settled = exact.settle(document, entries)
        seen.ledger.add(settled.entries)
        document = settled.document or document
        if document.canonical_id is None and (relative := near.nearest(document.doc_id, document.text)):
            detail = f"about {relative[1]:.0%} alike {relative[0]}"
            seen.ledger.add((LedgerEntry(document.doc_id, "read", "notice", "near_duplicate", detail),))
        seen.identities[document.doc_id] = Identity(
            document.content_hash, document.metadata_hash, document.canonical_id
        )
        yield document
    if near.stopped:
        seen.ledger.add((LedgerEntry("", "read", "notice", "near_duplicates_capped", near.stopped),))


def _reported(scans: list[Scan], limit: int, progress: Callable[[Progress], None] | None) -> Iterator[Outcome]:
    """All outcomes, with a progress report now and then. A corpus file's documents are counted as they come."""
    started = last = time.monotonic()
    files = sum(len(scan.inputs) for scan in scans)
    done = 0
    for scan in scans:
        for outcome in _outcomes(scan, limit):
            yield outcome
            done += 1
            now = time.monotonic()
            if progress is not None and now - last >= REPORT_SECONDS:
                last = now
                progress(Progress("documents", done, max(done, files), now - started, outcome.entries[0].path))
    if progress is not None:
        progress(Progress("documents", done, done, time.monotonic() - started))


def _outcomes(scan: Scan, limit: int) -> Iterator[Outcome]:
    if scan.corpus is not None:
        defaults = defaults_for(scan.corpus, scan.defaults)
        yield from read_corpus(scan.folder, scan.corpus, prefix=scan.prefix, defaults=defaults, max_line_bytes=limit)
    for item in scan.inputs:
        yield _read(item, scan, limit)


def _read(item: Input, scan: Scan, limit: int) -> Outcome:
    path = readable(item.path)
    if reader_for(path) is None:
        return refused(item.doc_id, unsupported(path), size=item.size)
    try:
        with scan.folder.open(item.path) as file:
            data = file.read(limit + 1)
    except OSError as error:
        return refused(item.doc_id, Refusal("failed", "unreadable", error.strerror or str(error)), size=item.size)
    if len(data) > limit:
        return refused(item.doc_id, Refusal("skipped", "too_large", f"more than max_file_bytes, {limit}"))
    return read_document(
        data,
        doc_id=item.doc_id,
        path=path,
        location=item.location,
        defaults=defaults_for(item.path, scan.defaults),
    )


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


def _publish(partial: Path, folder: Path) -> None:
    if folder.is_dir():
        return
    for file in partial.iterdir():
        fsync_file(file)
    try:
        partial.rename(folder)
    except OSError:
        # Another run finished the same snapshot first; any other fault rises.
        if not folder.is_dir():
            raise
    fsync_folder(folder.parent)
