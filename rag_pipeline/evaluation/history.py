"""What the release in service did night by night: one JSON line each, and the last nights with every ranking.

Lives here: the rows and their files. Measuring a night is history_measure.py; what a change means is history_check.py.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.evaluation.experiment import Experiment
from rag_pipeline.evaluation.results import read_experiment, write_experiment
from rag_pipeline.evaluation.row_file import append_row, read_rows

FILE = "history.jsonl"
NIGHTS = "nights"
KEEP_ROWS = 1000
KEEP_FULL = 14
"""Nights whose rankings are kept besides the first one of the present release and questions."""


@dataclass(frozen=True, slots=True)
class Night:
    at: str
    """UTC, ISO 8601; it also names the night's file."""
    release_id: str
    build_key: str
    strategy: str
    eval_set: str
    eval_set_hash: str
    code: str
    machine: Mapping[str, str]
    """Host, processor and the versions of what computes."""
    questions: int
    scored: int
    failed: int
    metrics: Mapping[str, float]
    """Means over the scored questions."""
    latency_n: int
    latency_p50_ms: float | None
    """Of whole answers, embedding included; None where nothing could be asked."""
    latency_p95_ms: float | None

    @property
    def identity(self) -> tuple[str, str, str]:
        """Nights that agree in it have to give the same rankings."""
        return self.release_id, self.eval_set_hash, self.strategy

    @property
    def file(self) -> str:
        return re.sub(r"[^0-9TZ]", "", self.at)


_NIGHT = TypeAdapter(Night)


def append_night(
    folder: Path, night: Night, experiment: Experiment, *, keep_rows: int = KEEP_ROWS, keep_full: int = KEEP_FULL
) -> None:
    """Add one night at the end and drop what is no longer kept. The rankings are written first: a row has its file."""
    folder.mkdir(parents=True, exist_ok=True)
    write_experiment(folder / NIGHTS, experiment, name=night.file)
    _drop_rankings(folder, append_row(folder / FILE, night, _NIGHT, keep=keep_rows), keep=keep_full)


def read_nights(folder: Path) -> tuple[Night, ...]:
    """All nights, oldest first. A line cut short by a crash is left out."""
    return read_rows(folder / FILE, _NIGHT)


def read_rankings(folder: Path, night: Night) -> Experiment | None:
    """Everything the night's questions returned; None where that isn't kept any more or can't be read."""
    try:
        return read_experiment(folder / NIGHTS, name=night.file)
    except CorruptBuild:
        return None


def first_alike(nights: Sequence[Night], night: Night) -> Night | None:
    """The oldest of the unbroken run of nights, up to the last, that asked this release these questions."""
    first = None
    for earlier in reversed(nights):
        if earlier.identity != night.identity:
            break
        first = earlier
    return first


def _drop_rankings(folder: Path, nights: Sequence[Night], *, keep: int) -> None:
    kept = {night.file for night in nights[-keep:]}
    first = first_alike(nights, nights[-1])
    if first is not None:
        kept.add(first.file)
    for file in (folder / NIGHTS).glob("*.json"):
        if file.stem not in kept:
            file.unlink()
