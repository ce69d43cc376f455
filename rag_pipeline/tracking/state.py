"""tracking.json beside an evaluation: whether it was logged, where, and if not, why."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_pipeline.evaluation.results import read_value, write_value

STORED = "tracking"


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """What became of logging one evaluation."""

    state: Literal["sent", "not_sent"]
    content: str
    """Hash of what was, or would have been, logged."""
    destination: str
    """Address without secrets; "" where none could be used."""
    at: str
    experiment_id: str | None = None
    run_id: str | None = None
    """Of the parent."""
    children: tuple[tuple[str, str], ...] = ()
    """(strategy, run id)."""
    url: str | None = None
    """For a browser, where a server was logged to."""
    notes: tuple[str, ...] = ()
    """Parts that could not be logged, and why."""
    error: str | None = None
    """Why it was not sent, and what to do."""


def write_state(folder: Path, logged: LoggedRun) -> None:
    write_value(folder, STORED, logged)


def read_state(folder: Path) -> LoggedRun | None:
    """None where it was never tried."""
    return read_value(folder, STORED, LoggedRun)
