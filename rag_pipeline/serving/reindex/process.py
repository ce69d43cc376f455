"""A re-index in a child process on this machine."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rag_pipeline.errors import BuildBusy
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.serving.reindex.lock import is_free, take
from rag_pipeline.serving.reindex.record import LOG, REPORT, Run, new_run, now, read_run, run_folder, write_run
from rag_pipeline.serving.settings import SHARED_METRICS

CHILD = "rag_pipeline.cli.reindex_child"
"""By name alone: the command line knows the server, not the other way round."""
NICER = 10
"""How much more willingly than the server a run gives up the processor: questions come first."""


class ProcessRunner:
    def __init__(self, home: Path, *, config: Path | None) -> None:
        self._options = ["--home", str(home.absolute()), *(["--config", str(config.absolute())] if config else [])]

    def start(self, paths: CollectionPaths, *, requested_by: str) -> Run:
        """Raises BuildBusy where a run of this collection is going on."""
        name = paths.root.name
        lock = take(_lock_file(paths))
        if lock is None:
            raise BuildBusy(f"a re-index of {name} is running; ask for its status, or wait until it has ended")
        try:
            run = new_run(name, backend="process", requested_by=requested_by)
            folder = run_folder(paths, run.run_id)
            write_run(folder, run)
            self._spawn(folder, ["reindex", "--collection", name, "--json", *self._options], lock)
        finally:
            os.close(lock)  # the child has its own copy
        return run

    def refreshed(self, paths: CollectionPaths, run: Run) -> Run:
        """The run as it is now: one that says it is running while nobody holds the lock ended without a word."""
        if run.backend != "process" or run.state != "running" or not is_free(_lock_file(paths)):
            return run
        folder = run_folder(paths, run.run_id)
        last = read_run(folder) or run  # it may have ended between our two looks
        if last.state == "running":
            last = lost(last)
            write_run(folder, last)
        return last

    def close(self) -> None:
        """Runs go on without the server."""

    @staticmethod
    def _spawn(folder: Path, arguments: Sequence[str], lock: int) -> None:
        command = [sys.executable, "-P", "-m", CHILD, str(folder.absolute()), *arguments]
        with (folder / REPORT).open("wb") as report, (folder / LOG).open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=report,
                stderr=log,
                pass_fds=(lock,),
                env={name: value for name, value in os.environ.items() if name != SHARED_METRICS},
                start_new_session=True,  # stopping the server does not stop a half-done re-index
            )
        with suppress(ProcessLookupError):  # ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICER)
        threading.Thread(target=process.wait, name=f"reap {folder.name}", daemon=True).start()


def lost(run: Run) -> Run:
    message = "the process ended without saying how; see the run's log on the server, then start another"
    return replace(run, state="lost", ended=now(), error={"type": "Lost", "message": message})


def _lock_file(paths: CollectionPaths) -> Path:
    return paths.runs / "lock"
