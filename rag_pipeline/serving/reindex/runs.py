"""Starting a re-index and finding out what became of it, on whichever backend the server has."""

import shutil
from pathlib import Path
from typing import Protocol

from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval.reader import collections
from rag_pipeline.serving.reindex.lock import held
from rag_pipeline.serving.reindex.record import RUN_ID, Run, all_runs, read_run, run_folder

KEPT_RUNS = 50


class Runner(Protocol):
    def start(self, paths: CollectionPaths, *, requested_by: str) -> Run: ...

    def refreshed(self, paths: CollectionPaths, run: Run) -> Run: ...

    def close(self) -> None: ...


class Reindexer:
    def __init__(self, home: Path, runner: Runner) -> None:
        self._home = Home(home)
        self._runner = runner

    def start(self, collection: str, *, requested_by: str) -> Run:
        """Raises BuildBusy where one of this collection is running. Only the last KEPT_RUNS are kept."""
        paths = self._home.collection(collection)
        with held(paths.runs / "starting"):  # two workers of a server may be asked at once
            run = self._runner.start(paths, requested_by=requested_by)
            for old in all_runs(paths)[KEPT_RUNS:]:
                shutil.rmtree(run_folder(paths, old.run_id), ignore_errors=True)
            return run

    def find(self, run_id: str) -> Run | None:
        """The run of that id in any collection, as it is now."""
        if not RUN_ID.fullmatch(run_id):
            return None
        for name in collections(self._home):
            paths = self._home.collection(name)
            run = read_run(run_folder(paths, run_id))
            if run is not None:
                return self._runner.refreshed(paths, run)
        return None

    def close(self) -> None:
        self._runner.close()
