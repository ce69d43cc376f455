"""Taking documents over from the snapshot before: a file with the bytes, path and defaults it had gives what it gave.

Lives here: what is remembered of the inputs beside the latest snapshot, and finding it again. Every file is still read
and hashed, so neither a touched time nor an untouched one decides anything; only parsing is spared. Inputs
that failed or lacked an extra are always tried again. What was stored is compared with its checksum before it is used.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.durable import temporary_name
from rag_pipeline.file_identity import content_hash
from rag_pipeline.kept import recall, remember
from rag_pipeline.made_by import made_by
from rag_pipeline.parquet import read_rows, write_rows
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.schema import Document, LedgerEntry
from rag_pipeline.sources.document import Outcome
from rag_pipeline.sources.metadata import Metadata
from rag_pipeline.sources.near_duplicates import Sketch

PACKAGES = ("sources", "text", "parquet", "schema")
LIBRARIES = (
    "beautifulsoup4",
    "charset-normalizer",
    "docutils",
    "fsspec",
    "lxml",
    "mammoth",
    "markdownify",
    "markitdown",
    "numpy",
    "openpyxl",
    "pandas",
    "pdfminer.six",
    "pdfplumber",
    "pyarrow",
    "python-pptx",
    "pyyaml",
)
BY = made_by(PACKAGES, LIBRARIES)
"""Taken when this is imported: a long process runs that code, whatever its files become."""
KEPT = "inputs"
_STATED = tuple(stated.name for stated in fields(Metadata))


@dataclass(frozen=True, slots=True)
class KeptInput:
    """One input that gave a document, in the order of documents.parquet."""

    key: str
    """`input_key` of what was read."""
    doc_id: str
    entries: str
    """Its ledger entries before duplicates were settled, as JSON."""
    sketch: str
    """Of its text, hex; "" where none was needed."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What is known of the inputs of one snapshot; `snapshot` is None where nothing can be taken over."""

    snapshot: Path | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    """What its snapshot.json said when it was taken."""
    inputs: str = ""
    """`inputs_key` of all of them together."""
    known: Mapping[str, KeptInput] | None = None
    """By document id."""
    problems: tuple[str, ...] = ()
    """Why what was kept is not used."""
    damaged: Path | None = None
    """The snapshot, where its files are not what they were."""


def input_key(data: bytes, *, path: str, location: str, defaults: Metadata) -> str:
    """Names a document's making by everything that goes in; the code is bound once, for all."""
    stated = {name: getattr(defaults, name) for name in _STATED}  # `asdict` copies, which takes longer than hashing
    about = json.dumps([path, location, stated], sort_keys=True, ensure_ascii=False, default=list)
    return f"{hashlib.sha256(data).hexdigest()}{_short(about)}"


def inputs_key(parts: Iterable[object]) -> str:
    """One hash over anything JSON has: the keys of all inputs in order, and what else decides a snapshot."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(json.dumps(part, sort_keys=True, ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()


def read_earlier(paths: CollectionPaths) -> Earlier:
    """What the last snapshot left, its checksums compared."""
    kept = recall(paths.kept(KEPT), _binding())
    if kept is None:
        return Earlier()
    value: dict[str, Any] = kept.value
    snapshot, index = paths.snapshot(value["info"]["key"]), _index(paths)
    if not snapshot.is_dir() or not index.is_file():
        return Earlier()
    stored = {
        index: value["index"],
        snapshot / "documents.parquet": value["documents"],
        snapshot / "ledger.parquet": value["ledger"],
    }
    damaged = [file for file, expected in stored.items() if not file.is_file() or content_hash(file) != expected]
    if damaged:
        told = ", ".join(file.name for file in damaged)
        problem = f"{told} of snapshot {snapshot.name} changed since; every document is read again"
        return Earlier(problems=(problem,), damaged=snapshot if damaged != [index] else None)
    rows: Iterator[KeptInput] = read_rows(index, KeptInput)
    return Earlier(snapshot, value["info"], value["inputs"], {row.doc_id: row for row in rows})


def keep(
    paths: CollectionPaths, snapshot: Path, rows: Iterable[KeptInput], *, inputs: str, info: Mapping[str, object]
) -> None:
    """Remember the inputs of a published snapshot in place of what was remembered before. The record comes last."""
    index = _index(paths)
    partial = temporary_name(index)
    try:
        write_rows(partial, KeptInput, rows)
        partial.replace(index)
    finally:
        partial.unlink(missing_ok=True)
    remember(
        paths.kept(KEPT),
        _binding(),
        {
            "info": info,
            "inputs": inputs,
            "index": content_hash(index),
            "documents": content_hash(snapshot / "documents.parquet"),
            "ledger": content_hash(snapshot / "ledger.parquet"),
        },
    )


def kept_input(key: str, outcome: Outcome, sketch: Sketch | None) -> KeptInput:
    assert outcome.document is not None
    entries = json.dumps([astuple(entry) for entry in outcome.entries], ensure_ascii=False)
    return KeptInput(key, outcome.document.doc_id, entries, sketch.tobytes().hex() if sketch is not None else "")


def sketch_in(row: KeptInput) -> Sketch | None:
    return np.frombuffer(bytes.fromhex(row.sketch), np.uint64) if row.sketch else None


class EarlierDocuments:
    """Documents of a snapshot by id, asked for in the order they are stored in; read once."""

    def __init__(self, earlier: Earlier) -> None:
        self._known = earlier.known or {}
        self._rows = self._stored(earlier.snapshot) if earlier.snapshot is not None else iter(())
        self._taken: set[str] = set()

    @staticmethod
    def _stored(snapshot: Path) -> Iterator[Document]:
        rows: Iterator[Document] = read_rows(snapshot / "documents.parquet", Document)
        return rows

    def take(self, doc_id: str, key: str) -> tuple[Outcome, KeptInput] | None:
        """What the input of this key gave, before duplicates were settled; None where it was another or is gone by."""
        row = self._known.get(doc_id)
        if row is None or row.key != key or doc_id in self._taken:
            return None
        self._taken.add(doc_id)
        for document in self._rows:
            if document.doc_id == doc_id:
                entries: list[Any] = json.loads(row.entries)
                found = replace(document, canonical_id=None)
                return Outcome(found, tuple(LedgerEntry(*entry) for entry in entries)), row
        return None


def _binding() -> dict[str, str]:
    return {"by": BY}


def _index(paths: CollectionPaths) -> Path:
    return paths.staging / "inputs.parquet"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
