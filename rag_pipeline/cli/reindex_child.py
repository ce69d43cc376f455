"""The process of one run: `rag-pipeline reindex` with its report and log in the run's folder, and how it ended.

    python -m rag_pipeline.cli.reindex_child FOLDER [arguments of the command]

It writes the end into the run's record itself, so that a server that was restarted meanwhile still learns of it.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_pipeline.cli.main import main
from rag_pipeline.serving.problems import public_text
from rag_pipeline.serving.reindex.record import REPORT, Run, now, read_run, write_run


def run_to_end(folder: Path, arguments: list[str]) -> None:
    run = read_run(folder)
    assert run is not None
    code: object = 1
    try:
        main(arguments)
    except SystemExit as ended:
        code = ended.code
    finally:  # an error nobody expected is in the log; the record says that the run failed
        sys.stdout.flush()
        write_run(folder, finished(run, code, read_report(folder / REPORT)))


def finished(run: Run, code: object, printed: dict[str, Any]) -> Run:
    """`printed` is the object that the command printed, empty where it printed none."""
    if code in (0, None):
        return replace(run, state="succeeded", ended=now(), report=printed)
    error = printed.get("error", {})
    kind, message = str(error.get("type", "InternalError")), str(error.get("message", "see the run's log"))
    return replace(run, state="failed", ended=now(), error={"type": kind, "message": public_text(message)})


def read_report(file: Path) -> dict[str, Any]:
    try:
        printed = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return printed if isinstance(printed, dict) else {}


if __name__ == "__main__":
    run_to_end(Path(sys.argv[1]), sys.argv[2:])
