"""What is kept on disk of one re-index that was asked for: one JSON file a run, written atomically."""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rag_pipeline.durable import write_json
from rag_pipeline.paths import CollectionPaths

RECORD, REPORT, LOG = "run.json", "report.json", "log.txt"
RUN_ID = re.compile(r"[0-9a-f]{32}")
State = Literal["running", "succeeded", "failed", "lost"]
Backend = Literal["process", "dagster"]


@dataclass(frozen=True, slots=True)
class Run:
    run_id: str
    collection: str
    backend: Backend
    started: str
    requested_by: str
    """Name of the key."""
    state: State = "running"
    """`lost`: its process ended without saying how."""
    ended: str | None = None
    error: Mapping[str, str] | None = None
    """`type` and `message`."""
    report: Mapping[str, Any] | None = None
    remote_id: str | None = None
    """Dagster's own run id."""


def new_run(collection: str, *, backend: Backend, requested_by: str, remote_id: str | None = None) -> Run:
    return Run(uuid.uuid4().hex, collection, backend, now(), requested_by, remote_id=remote_id)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_folder(paths: CollectionPaths, run_id: str) -> Path:
    if not RUN_ID.fullmatch(run_id):
        raise ValueError(f"{run_id!r} is no run id")
    return paths.runs / run_id


def write_run(folder: Path, run: Run) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / RECORD, asdict(run))


def read_run(folder: Path) -> Run | None:
    """None where there is none, or one that can't be read."""
    try:
        return Run(**json.loads((folder / RECORD).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def all_runs(paths: CollectionPaths) -> tuple[Run, ...]:
    """Newest first."""
    if not paths.runs.is_dir():
        return ()
    folders = [p for p in paths.runs.iterdir() if RUN_ID.fullmatch(p.name)]
    runs = [run for folder in folders if (run := read_run(folder)) is not None]
    return tuple(sorted(runs, key=lambda run: (run.started, run.run_id), reverse=True))
