"""Resources: where data is kept, and the lock that makes a run the only one that writes there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from rag_pipeline.defs.collection import COLLECTION_TAG, LOCK_WAIT_SECONDS
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.release.lock import build_lock


class DataDirectory(dg.ConfigurableResource):
    """The data directory. Relative paths are taken from the folder Dagster was started in."""

    path: str

    @property
    def home(self) -> Home:
        return Home(Path(self.path))

    def collection(self, name: str) -> CollectionPaths:
        return self.home.collection(name)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["DataDirectory"]:
        """Hold the collection's build lock for as long as the resource lives.

        With the in-process executor that is the whole run: steps hand over through pointers in the staging folder, and
        another run between two of them would hand over its own.
        """
        collection = context.run.tags.get(COLLECTION_TAG) if context.run else None
        if collection is None:
            yield self
        else:
            with build_lock(self.collection(collection), wait_seconds=LOCK_WAIT_SECONDS):
                yield self
