"""Which files of a source are to be read, with the folder defaults that hold for them, and why the others are not.

Lives here: patterns, size limits, document ids and the defaults files. Opening and walking is folder.py's.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.errors import InvalidSource
from rag_pipeline.schema import LedgerEntry, Outcome
from rag_pipeline.settings.build import SourceSettings
from rag_pipeline.sources import beir
from rag_pipeline.sources.defaults import NAME, FolderDefaults, broken_defaults, parse_defaults
from rag_pipeline.sources.folder import Folder, Found, open_folder
from rag_pipeline.sources.patterns import path_filter

MAX_DEFAULTS_BYTES = 256 * 1024
UNSEEN = frozenset({"hidden", "own_data"})
"""Names that are counted, but are no inputs: nothing depends on them."""
_FAILED = frozenset({"unreadable"})
_NOT_UTF8 = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Input:
    """One file to read."""

    path: str
    """Relative to the source, as the folder opens it."""
    doc_id: str
    location: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Scan:
    folder: Folder
    prefix: str
    """What document ids begin with: "" or "<source name>/"."""
    inputs: tuple[Input, ...]
    """In order of their ids."""
    entries: tuple[LedgerEntry, ...]
    """Whatever is not read, with the reason."""
    defaults: Mapping[str, FolderDefaults]
    corpus: str | None = None
    """The file that holds one document a line, where the folder is a BEIR data set; then `inputs` is empty."""


def scan_source(
    source: SourceSettings, *, max_file_bytes: int, allow_empty: bool = False, data: Collection[Path] = ()
) -> Scan:
    """List one source. Raises InvalidSource where it is missing, unreadable, no folder, or holds nothing at all.

    `data` are folders of the pipeline itself: inside a source, builds would become documents of the next build.
    """
    folder = open_folder(source.path)
    reason = path_filter(source.include, source.exclude)
    found = sorted(folder.walk(_pruning(folder, reason, data)), key=lambda f: f.path)
    if not allow_empty and all(f.kind in UNSEEN for f in found):
        raise InvalidSource(f"source {source.path!r} holds no files; add some, or set `allow_empty` for the collection")
    prefix = f"{source.name}/" if source.name else ""
    corpus = beir.corpus_file({f.path for f in found if f.kind == "file"})
    defaults: dict[str, FolderDefaults] = {}
    inputs: list[Input] = []
    entries: list[LedgerEntry] = []
    for item in found:
        doc_id = prefix + readable(item.path)
        if item.path.rpartition("/")[2] == NAME:
            here = _defaults(folder, item)
            defaults[item.path[: -len(NAME)].rstrip("/")] = here
            outcome: Outcome = "failed" if here.problem else "skipped"
            entries.append(LedgerEntry(doc_id, "read", outcome, "defaults", here.problem, size=item.size))
        elif item.kind != "file":
            outcome = "failed" if item.kind in _FAILED else "skipped"
            entries.append(LedgerEntry(doc_id, "read", outcome, item.kind, item.detail))
        elif item.path == corpus:
            continue
        elif rule := "not_corpus" if corpus else reason(item.path):
            entries.append(LedgerEntry(doc_id, "read", "skipped", rule, size=item.size))
        elif item.size is not None and item.size > max_file_bytes:
            detail = f"{item.size} bytes, max_file_bytes is {max_file_bytes}"
            entries.append(LedgerEntry(doc_id, "read", "skipped", "too_large", detail, size=item.size))
        else:
            inputs.append(Input(item.path, doc_id, readable(folder.location(item.path)), item.size))
    inputs.sort(key=lambda i: i.doc_id)
    return Scan(folder, prefix, tuple(inputs), tuple(entries), defaults, corpus)


def readable(path: str) -> str:
    """The path as Unicode text: bytes that are no UTF-8 become %XX."""
    return _NOT_UTF8.sub(lambda m: f"%{ord(m[0]) & 0xFF:02X}", path)


def holds_any(source: SourceSettings) -> bool:
    """Whether `walk_all` would find anything; looks no further than the first name."""
    folder = open_folder(source.path)
    found = folder.walk(_pruning(folder, path_filter(source.include, source.exclude), ()))
    return any(f.kind not in UNSEEN for f in found)


def walk_all(source: SourceSettings, *, data: Collection[Path] = ()) -> list[Found]:
    """Every name below a source but the unseen and excluded ones, sorted: what a change of the source shows in."""
    folder = open_folder(source.path)
    found = folder.walk(_pruning(folder, path_filter(source.include, source.exclude), data))
    return sorted((f for f in found if f.kind not in UNSEEN), key=lambda f: f.path)


def _pruning(folder: Folder, reason: Callable[[str], str], data: Collection[Path]) -> Callable[[str], str]:
    own = {str(path.absolute()) for path in data} | {str(path.resolve()) for path in data}

    def prune(path: str) -> str:
        return "own_data" if folder.location(path).rstrip("/") in own else reason(path)

    return prune


def _defaults(folder: Folder, item: Found) -> FolderDefaults:
    """Include patterns don't matter here: a defaults file that is overlooked would lose its access list."""
    if item.kind != "file":
        return broken_defaults(f"{item.kind}: {item.detail}")
    try:
        with folder.open(item.path) as file:
            data = file.read(MAX_DEFAULTS_BYTES + 1)
    except OSError as error:
        return broken_defaults(f"unreadable: {error.strerror or error}")
    if len(data) > MAX_DEFAULTS_BYTES:
        return broken_defaults(f"larger than {MAX_DEFAULTS_BYTES} bytes")
    return parse_defaults(data)
