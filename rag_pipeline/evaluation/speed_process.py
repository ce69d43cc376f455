"""What only a fresh process shows: how long `rag-pipeline query` takes cold, and how much memory a reader needs.

python -m rag_pipeline.evaluation.speed_process     a reader; its task is one JSON object on stdin
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rag_pipeline.errors import StageFailed
from rag_pipeline.paths import Home

QUERY = "import json, sys; from rag_pipeline.cli.main import main; main(json.load(sys.stdin))"
"""The command, with its arguments on stdin: every user of the machine sees command lines, and questions may quote what
only some may read."""
SECONDS = 120.0
STATUS = Path("/proc/self/status")
"""Linux; elsewhere the peak is not measured."""


def cold_starts(home: Home, collection: str, questions: Sequence[str]) -> tuple[float, float]:
    """Medians over the questions of milliseconds from process start to exit, and of processor milliseconds.

    Raises StageFailed where a query fails.
    """
    clock, used = [], []
    for question in questions:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        arguments = ["query", "--json", "-c", collection, "--home", str(home.root), "--", question]
        _run("cold_start", "-c", QUERY, task=arguments)
        clock.append((time.perf_counter() - began) * 1000)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
    return median(clock), median(used)


def reader_peak(home: Home, collection: str, release_id: str, questions: Sequence[str]) -> float | None:
    """Megabytes (10^6 bytes) that a process which opens the release and answers the questions had resident at most.

    None where the system doesn't tell. Raises StageFailed where the reader fails.
    """
    task = {"home": str(home.root), "collection": collection, "release": release_id, "questions": list(questions)}
    told = json.loads(_run("reader", "-m", __name__, task=task))
    return None if told["peak_kib"] is None else told["peak_kib"] * 1024 / 1e6


def read(task: dict[str, Any]) -> dict[str, Any]:
    """The reader's side."""
    from rag_pipeline.retrieval.reader import open_release
    from rag_pipeline.retrieval.retrieve import retrieve_from
    from rag_pipeline.schema import Principal

    home = Home(Path(task["home"]))
    opened = open_release(home.collection(task["collection"]), task["release"])
    for question in task["questions"]:
        retrieve_from(opened, question, models=home.models, principal=Principal.system())
    return {"peak_kib": peak_kib(STATUS)}


def peak_kib(status: Path) -> int | None:
    """The process's own high-water mark. `getrusage` is no use: a child begins with its parent's mark."""
    try:
        lines = status.read_text("ascii", "replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)


def _run(what: str, *arguments: str, task: object) -> str:
    command, given = [sys.executable, *arguments], json.dumps(task)
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=SECONDS, check=True)
    except subprocess.TimeoutExpired:
        raise StageFailed(what, "timeout", f"it took more than {SECONDS:g} s; try again on a quiet machine") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout).strip().splitlines()[-1:] or ["it said nothing"]
        raise StageFailed(what, f"exit code {error.returncode}", f"mend what it said: {last[0]}") from error
    return done.stdout


if __name__ == "__main__":
    print(json.dumps(read(json.load(sys.stdin))))  # noqa: T201 - its answer to the process that started it
