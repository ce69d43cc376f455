"""What changed between two snapshots: documents added, changed, moved and deleted."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a document the same document as before."""

    content_hash: str
    metadata_hash: str
    canonical_id: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Another text, other metadata, or another canonical document."""
    moved: tuple[tuple[str, str], ...] = ()
    """(old id, new id): the same text, and nothing under the old id any more."""
    deleted: tuple[str, ...] = ()


def compare(before: Mapping[str, Identity], now: Mapping[str, Identity]) -> Changes:
    """Both by document id. Each deleted document is the origin of one added document at most."""
    gone = sorted(before.keys() - now.keys())
    fresh = sorted(now.keys() - before.keys())
    moved: dict[str, str] = {}
    # The same metadata first; but a category that follows from the folder changes with a move.
    for with_metadata in (True, False):
        origins: dict[tuple[str, str], list[str]] = {}
        for old in reversed(gone):
            if old not in moved.values():
                origins.setdefault(_likeness(before[old], with_metadata), []).append(old)
        for new in fresh:
            if new not in moved and (left := origins.get(_likeness(now[new], with_metadata))):
                moved[new] = left.pop()
    origins_used = set(moved.values())
    return Changes(
        added=tuple(i for i in fresh if i not in moved),
        changed=tuple(sorted(i for i in now.keys() & before.keys() if now[i] != before[i])),
        moved=tuple(sorted((old, new) for new, old in moved.items())),
        deleted=tuple(i for i in gone if i not in origins_used),
    )


def read_identities(snapshot: Path | None) -> dict[str, Identity]:
    """Those of a snapshot folder; none where it is gone."""
    if snapshot is None or not (snapshot / "documents.parquet").is_file():
        return {}
    names = ("doc_id", "content_hash", "metadata_hash", "canonical_id")
    table = pq.read_table(snapshot / "documents.parquet", columns=list(names)).to_pydict()
    rows = zip(*(table[name] for name in names), strict=True)
    return {doc_id: Identity(content, metadata, canonical) for doc_id, content, metadata, canonical in rows}


def _likeness(identity: Identity, with_metadata: bool) -> tuple[str, str]:
    return identity.content_hash, identity.metadata_hash if with_metadata else ""
