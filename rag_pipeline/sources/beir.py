"""BEIR data sets as a source: a folder with corpus.jsonl[.gz] and queries.jsonl[.gz], one document a line.

A document's id is the line's `_id`; its text is title, empty line and text, unless the text begins with its title.
"""

import gzip
import json
import zlib
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO, cast

from rag_pipeline.sources.document import Outcome, make_document, refused
from rag_pipeline.sources.folder import Folder
from rag_pipeline.sources.metadata import KEYS, Metadata, one_line, read_metadata
from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline.text.repair import repair, repair_text

CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")
QUERIES = ("queries.jsonl", "queries.jsonl.gz")


def corpus_file(names: Collection[str]) -> str | None:
    """The corpus file where these top-level names are those of a BEIR data set."""
    return next((n for n in CORPUS if n in names), None) if any(q in names for q in QUERIES) else None


def read_corpus(
    folder: Folder, path: str, *, prefix: str, defaults: Metadata, max_line_bytes: int
) -> Iterator[Outcome]:
    """One outcome a line. A line without an id is named by its number: "corpus.jsonl:12"."""
    seen: set[str] = set()
    location = folder.location(path)
    try:
        with folder.open(path) as raw, _unpacked(raw, path) as file:
            for number, line in enumerate(_lines(file, max_line_bytes), 1):
                if line.strip() or len(line) > max_line_bytes:
                    yield _outcome(line, f"{path}:{number}", seen, prefix, location, defaults, max_line_bytes)
    except (OSError, EOFError, zlib.error) as error:
        yield refused(prefix + path, Refusal("failed", "unreadable", f"{error}: what follows is lost"))


def _unpacked(raw: BinaryIO, path: str) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if path.endswith(".gz") else raw


def _lines(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """Lines of at most `limit` + 1 bytes; the rest of a longer one is read and dropped."""
    while line := file.readline(limit + 1):
        yield line
        while len(line) > limit and not line.endswith(b"\n"):
            line = file.readline(limit + 1)
            if not line:
                return


def _outcome(
    line: bytes, place: str, seen: set[str], prefix: str, location: str, defaults: Metadata, limit: int
) -> Outcome:
    if len(line) > limit:
        return refused(prefix + place, Refusal("skipped", "too_large", f"a line of more than {limit} bytes"))
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return refused(prefix + place, Refusal("failed", "malformed", f"not JSON: {error}"[:300]), size=len(line))
    problem = _problem(record)
    if problem:
        return refused(prefix + place, Refusal("failed", "malformed", problem), size=len(line))
    own_id = repair_text(str(record["_id"]))
    doc_id = prefix + own_id
    if own_id in seen:
        return refused(
            prefix + place, Refusal("failed", "duplicate_id", f"_id {own_id!r} was read before"), size=len(line)
        )
    seen.add(own_id)
    title = one_line(record.get("title") or "")
    repaired = repair(record.get("text") or "")
    text = repaired.text
    if title and not text.lstrip().startswith(title):
        text = f"{title}\n\n{text}" if text.strip() else title
    reading = Reading(text, title=title or own_id, metadata=_metadata(record), repairs=repaired.repairs)
    where = f"{location}#{own_id}"
    # An id may look like a path or a URL, and says nothing about a category.
    return make_document(
        reading, format="text", doc_id=doc_id, path="", location=where, defaults=defaults, size=len(line)
    )


def _problem(record: Any) -> str:
    if not isinstance(record, dict):
        return "not an object"
    if not isinstance(record.get("_id"), str | int) or record["_id"] == "":
        return "no _id"
    wrong = [key for key in ("title", "text") if not isinstance(record.get(key), str | None)]
    return f"{wrong[0]} is no text" if wrong else ""


def _metadata(record: dict[str, Any]) -> Metadata:
    """The line's "metadata" object and its other keys; lists there hold the text once more, such as its sentences."""
    inner = record.get("metadata")
    values = {k: v for k, v in record.items() if k in KEYS or not isinstance(v, list | dict)}
    for key in ("_id", "title", "text"):
        values.pop(key, None)
    return read_metadata({**(inner if isinstance(inner, dict) else {}), **values})
