"""Resources: where data is kept."""

from pathlib import Path

import dagster as dg

from rag_pipeline.paths import CollectionPaths, Home


class DataDirectory(dg.ConfigurableResource):
    """The data directory. Relative paths are taken from the folder Dagster was started in."""

    path: str

    @property
    def home(self) -> Home:
        return Home(Path(self.path))

    def collection(self, name: str) -> CollectionPaths:
        return self.home.collection(name)
