"""The inputs of several scans, one after the other: each read, or taken over where its bytes are what they were.

Lives here: opening and hashing files. What is remembered of them is reuse.py's, what becomes of them snapshot.py's.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from rag_pipeline.sources.beir import read_corpus
from rag_pipeline.sources.defaults import defaults_for
from rag_pipeline.sources.document import Outcome, read_document, refused, unsupported
from rag_pipeline.sources.reader import Refusal
from rag_pipeline.sources.registry import reader_for
from rag_pipeline.sources.reuse import Earlier, EarlierDocuments, KeptInput, input_key
from rag_pipeline.sources.scan import Input, Scan, readable

BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Read:
    outcome: Outcome
    key: str | None = None
    """Of a file that was read; None for a document in a corpus file."""
    known: KeptInput | None = None
    """What was kept of it, where it was not read again."""


class Inputs:
    """Where something can be taken over, every file is hashed first, and only those that changed are read again."""

    def __init__(self, scans: list[Scan], *, limit: int, earlier: Earlier) -> None:
        self._scans = scans
        self._limit = limit
        self._earlier = earlier
        self._keys: dict[tuple[int, str], str] = {}
        self.parts_read: list[object] = []
        """What `read` read, as `parts` tells it."""
        self.files = sum(len(scan.inputs) for scan in scans)

    def parts(self) -> Iterator[object]:
        """What all inputs together are, in order: the keys of the files, which `read` then knows already."""
        for number, scan in enumerate(self._scans):
            if scan.corpus is not None:
                yield _corpus_part(scan)
            for item in scan.inputs:
                data = self._bytes(item, scan) if reader_for(readable(item.path)) is not None else None
                key = _key(data, item, scan) if isinstance(data, bytes) and len(data) <= self._limit else None
                if key is not None:
                    self._keys[number, item.path] = key
                yield _part(item, key)

    def read(self) -> Iterator[Read]:
        stored = EarlierDocuments(self._earlier)
        for number, scan in enumerate(self._scans):
            if scan.corpus is not None:
                yield from self._corpus(scan)
            for item in scan.inputs:
                read, key = self._read(item, scan, stored, self._keys.get((number, item.path)))
                self.parts_read.append(_part(item, key))
                yield read

    def _read(self, item: Input, scan: Scan, stored: EarlierDocuments, key: str | None) -> tuple[Read, str | None]:
        """And the key of what was read, None where nothing was."""
        path = readable(item.path)
        if reader_for(path) is None:
            return Read(refused(item.doc_id, unsupported(path), size=item.size)), None
        if key is not None and (taken := stored.take(item.doc_id, key)) is not None:
            return Read(taken[0], key, taken[1]), key
        data = self._bytes(item, scan)
        if isinstance(data, Refusal):
            return Read(refused(item.doc_id, data, size=item.size)), None
        if len(data) > self._limit:
            refusal = Refusal("skipped", "too_large", f"more than max_file_bytes, {self._limit}")
            return Read(refused(item.doc_id, refusal)), None
        key = _key(data, item, scan)
        defaults = defaults_for(item.path, scan.defaults)
        outcome = read_document(data, doc_id=item.doc_id, path=path, location=item.location, defaults=defaults)
        return Read(outcome, key), key

    def _bytes(self, item: Input, scan: Scan) -> bytes | Refusal:
        """One more than the limit at most."""
        try:
            with scan.folder.open(item.path) as file:
                return file.read(self._limit + 1)
        except OSError as error:
            return Refusal("failed", "unreadable", error.strerror or str(error))

    def _corpus(self, scan: Scan) -> Iterator[Read]:
        """The documents of one corpus file; they are always read again where the file changed."""
        assert scan.corpus is not None
        before = _corpus_part(scan)
        defaults = defaults_for(scan.corpus, scan.defaults)
        for outcome in read_corpus(
            scan.folder, scan.corpus, prefix=scan.prefix, defaults=defaults, max_line_bytes=self._limit
        ):
            yield Read(outcome)
        same = _corpus_part(scan) == before
        self.parts_read.append(before if same else [scan.prefix, scan.corpus, "changed while it was read"])


def _corpus_part(scan: Scan) -> object:
    assert scan.corpus is not None
    digest = hashlib.sha256()
    try:
        with scan.folder.open(scan.corpus) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        return [scan.prefix, scan.corpus, f"unreadable: {error.strerror or error}"]
    return [scan.prefix, scan.corpus, digest.hexdigest(), str(defaults_for(scan.corpus, scan.defaults))]


def _key(data: bytes, item: Input, scan: Scan) -> str:
    return input_key(
        data, path=readable(item.path), location=item.location, defaults=defaults_for(item.path, scan.defaults)
    )


def _part(item: Input, key: str | None) -> object:
    return [item.doc_id, item.size if key is None else None, key]
