"""Whether questions can be answered: tried with a real one, once a release."""

import threading

from rag_pipeline.errors import RagPipelineError
from rag_pipeline.paths import Home
from rag_pipeline.retrieval.reader import collections, open_current
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.retrieval.retrieve import retrieve_from

PROBE = "ready"


class Readiness:
    """The first look at a release opens it and loads its model, so that no user waits for that."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._tried: dict[str, str] = {}

    def reasons(self) -> tuple[str, ...]:
        """Types of the errors that keep a published collection from answering; "NoRelease" where none is published."""
        with self._lock:
            published = [name for name in collections(self._home) if self._home.collection(name).current.is_file()]
            found = [reason for name in published if (reason := self._try(name)) is not None]
        return tuple(dict.fromkeys(found)) if published else ("NoRelease",)

    def _try(self, name: str) -> str | None:
        paths = self._home.collection(name)
        try:
            current = read_current(paths)
            if current is not None and self._tried.get(name) == current:
                return None
            opened = open_current(paths)
            retrieve_from(opened, PROBE, models=self._home.models)
        except RagPipelineError as error:
            return type(error).__name__
        self._tried[name] = opened.release.release_id
        return None
