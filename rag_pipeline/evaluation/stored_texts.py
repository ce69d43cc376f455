"""Texts of stored releases by release and document, and who may read them in the one in service."""

import re
from functools import lru_cache

from rag_pipeline.errors import RagPipelineError
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.reader import OpenRelease, open_release
from rag_pipeline.retrieval.scope import readable_documents
from rag_pipeline.schema import Principal

_ID = re.compile(r"[0-9a-f]{20}")


class ReleaseTexts:
    """A release that is no longer stored, or can't be opened, has no texts: `text` returns None, no error."""

    def __init__(self, paths: CollectionPaths, current: OpenRelease) -> None:
        self._paths = paths
        self._open: dict[str, OpenRelease | None] = {current.release.release_id: current}
        self._current = current
        self._readable: dict[Principal | None, frozenset[str]] = {}
        self._text = lru_cache(256)(self._read)

    @property
    def release_id(self) -> str:
        return self._current.release.release_id

    def text(self, release_id: str, doc_id: str) -> str | None:
        return self._text(release_id, doc_id)

    def readable(self, doc_id: str, principal: Principal | None) -> bool:
        if principal not in self._readable:
            self._readable[principal] = frozenset(readable_documents(self._current.index, principal=principal))
        return doc_id in self._readable[principal]

    def _read(self, release_id: str, doc_id: str) -> str | None:
        if not _ID.fullmatch(release_id):  # it becomes a path
            return None
        if release_id not in self._open:
            try:
                self._open[release_id] = open_release(self._paths, release_id)
            except RagPipelineError:
                self._open[release_id] = None
        opened = self._open[release_id]
        return None if opened is None else opened.index.document_texts([doc_id]).get(doc_id)
