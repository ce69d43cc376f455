"""`rag-pipeline serve` as a process of its own, over a collection that a fake model embeds.

    python -m rag_pipeline_tests.serving.processes [options of serve]

Workers import this file again before they begin, as the main module of the process that started them, so that they have
the fake model too. A worker ends with code 9 before it begins while the file $BROKEN exists, and is killed after
$SILENT seconds of silence.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rag_pipeline.cli.main import main
from rag_pipeline.paths import Home
from rag_pipeline.retrieval import query_vector
from rag_pipeline_tests.fakes import WordEmbedder

T = TypeVar("T")
SECONDS = 120.0
"""Until something that must happen counts as missing; a loaded machine may take its time."""
ANSWERED = re.compile(r" INFO (\d+) rag_pipeline\.serving \w+ POST /api/rag/retrieve 200 ")


@dataclass(frozen=True)
class Running:
    process: "subprocess.Popen[bytes]"
    url: str
    log: Path
    temporary: Path
    """Where it puts what it removes again."""

    def workers(self) -> set[int]:
        """Process ids."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return {int(child) for child in children if "spawn_main" in _command(int(child))}

    def answered(self) -> list[int]:
        """Process ids of the workers that answered a question, as the log has them."""
        return [int(pid) for pid in ANSWERED.findall(self.log.read_text())]

    def lines(self, part: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if part in line]


@contextmanager
def running(
    home: Path, folder: Path, *options: str, broken: Path | None = None, silent: float = 60
) -> Iterator[Running]:
    """A server on a free port; at the end none of its processes is left."""
    temporary = folder / "temporary"
    temporary.mkdir()
    log = folder / "log.txt"
    environ = {**os.environ, "RAG_PIPELINE_HOME": str(home), "TMPDIR": str(temporary), "BROKEN": str(broken or "")}
    environ["SILENT"] = str(silent)
    command = [sys.executable, "-m", "rag_pipeline_tests.serving.processes", "--port", "0", *options]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environ, cwd=folder)
    workers: set[int] = set()
    try:
        found = until(lambda: re.search(r"workers on (http://\S+)", log.read_text()) or process.poll() is not None)
        if isinstance(found, bool):
            raise AssertionError(log.read_text())
        server = Running(process, found[1], log, temporary)
        yield server
        if process.poll() is None:
            workers = server.workers()
    finally:
        process.terminate()
        try:
            process.wait(SECONDS)
        finally:
            process.kill()
    assert not [pid for pid in workers if alive(pid)]


def until(condition: Callable[[], T]) -> T:
    """What `condition` returns once that is true."""
    deadline = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
    return found


def alive(pid: int) -> bool:
    """A zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except FileNotFoundError:
        return ""


def _use_the_fake_model() -> None:
    embedder = WordEmbedder()
    query_vector._embedders[(Home(Path(os.environ["RAG_PIPELINE_HOME"])).models, embedder.fingerprint)] = embedder


if __name__ == "__mp_main__" and os.environ["BROKEN"] and Path(os.environ["BROKEN"]).exists():
    sys.exit(9)
if __name__ in ("__main__", "__mp_main__"):
    _use_the_fake_model()
if __name__ == "__main__":
    from rag_pipeline.serving import (
        workers as supervisor,
    )  # in a worker it would come before the metrics' folder is set

    supervisor.SILENT_SECONDS = float(os.environ["SILENT"])
    supervisor.LISTEN_SECONDS = supervisor.SILENT_SECONDS / 6
    main(["serve", *sys.argv[1:]])
