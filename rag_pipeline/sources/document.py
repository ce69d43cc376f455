"""One input to one Document, or to the reason why not. Pure: bytes in, values out."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rag_pipeline.schema import Document, LedgerEntry
from rag_pipeline.sources.derive import category_from_path, language_from_path, title_from_path
from rag_pipeline.sources.metadata import Metadata, one_line
from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline.sources.registry import CODE_FORMATS, reader_for

# Spaces and the characters that show nothing: a file of these alone holds no text.
_VISIBLE = re.compile("[^\\s\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one input. `entries` holds exactly one that is no notice."""

    document: Document | None
    entries: tuple[LedgerEntry, ...]


def read_document(data: bytes, *, doc_id: str, path: str, location: str, defaults: Metadata) -> Outcome:
    """Read one file's bytes. `path` is relative to the source; its extension chooses the reader."""
    reader = reader_for(path)
    if reader is None:
        return refused(doc_id, unsupported(path), size=len(data))
    if not data:
        return refused(doc_id, Refusal("filtered", "empty", "no bytes"), size=0)
    try:
        reading = reader.read(data)
    except Exception as error:  # noqa: BLE001 - one hostile file must not stop the others; it is recorded as failed
        return refused(
            doc_id, Refusal("failed", "reader_error", f"{type(error).__name__}: {error}"[:300]), size=len(data)
        )
    if isinstance(reading, Refusal):
        return refused(doc_id, reading, size=len(data))
    return make_document(
        reading, format=reader.format, doc_id=doc_id, path=path, location=location, defaults=defaults, size=len(data)
    )


def make_document(
    reading: Reading, *, format: str, doc_id: str, path: str, location: str, defaults: Metadata, size: int
) -> Outcome:
    """A Document from what a reader found, the folder defaults and the path, in this order of weight."""
    if not _VISIBLE.search(reading.text):
        return refused(doc_id, Refusal("filtered", "empty", "no visible text"), size=size)
    own = reading.metadata
    merged = own.over(defaults)
    title = own.title or reading.title or defaults.title
    fields = {
        "body_start": reading.body_start,
        "title": one_line(title or title_from_path(path, keep_name=format in CODE_FORMATS)) or "untitled",
        "category": merged.category or category_from_path(path),
        "author": merged.author,
        "language": merged.language or language_from_path(path),
        "version": merged.version,
        "created": merged.created,
        "updated": merged.updated,
        "tags": merged.tags,
        "access": merged.access,
        "description": merged.description,
        "extra": merged.extra_json,
        "source_map": reading.source_map,
        "locators": reading.locators,
    }
    document = Document(
        doc_id=doc_id,
        source=location,
        text=reading.text,
        format=format,
        content_hash=hashlib.sha256(reading.text.encode("utf-8")).hexdigest(),
        metadata_hash=_hash(fields),
        **fields,  # type: ignore[arg-type]
    )
    entries = [LedgerEntry(doc_id, "read", "indexed", format, size=size)]
    if reading.repairs:
        entries.append(LedgerEntry(doc_id, "read", "notice", "repaired", "; ".join(reading.repairs), size=size))
    if merged.notices:
        entries.append(LedgerEntry(doc_id, "read", "notice", "metadata", "; ".join(merged.notices)))
    return Outcome(document, tuple(entries))


def unsupported(path: str) -> Refusal:
    name = path.rpartition("/")[2]
    extension = f"extension .{name.rpartition('.')[2]}" if "." in name else "no extension"
    return Refusal("skipped", "unsupported", f"no reader for {extension}")


def refused(doc_id: str, refusal: Refusal, *, size: int | None = None) -> Outcome:
    entry = LedgerEntry(doc_id, "read", refusal.outcome, refusal.rule, refusal.detail, size=size)
    return Outcome(None, (entry,))


def _hash(fields: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode("utf-8")).hexdigest()
