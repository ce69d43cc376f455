"""How fast a collection's service was, run by run: one JSON line each.

Lives here: the row, its file, and which way each figure is better. Measuring a run is speed.py; what a change means is
speed_check.py.

    query.hybrid.p50_ms, query.hybrid.p95_ms   a warm answer by that strategy, embedding included
    query_embedding.p50_ms                     the embedding's part of it, under the default strategy
    cold_start_ms, cold_start_cpu_ms           `rag-pipeline query` from process start to answer; processor time of it
    embedding.chunks_per_second                documents' side of the model on a fixed sample
    embedding.cpu_ms_per_chunk                 processor time of it, which other programs disturb less
    open_index_ms                              opening the release, its build included
    index_bytes_per_chunk                      all files of the build
    reader_peak_mb                             most resident memory (10^6 bytes) of a process that answers, mapped pages
                                               of the index among it
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from rag_pipeline.evaluation.history_machine import TIMING
from rag_pipeline.evaluation.row_file import append_row, read_rows

FILE = "history.jsonl"
KEEP_ROWS = 1000
MORE_IS_BETTER = "_per_second"
"""End of the names of figures that get better as they grow; all others get worse."""


@dataclass(frozen=True, slots=True)
class SpeedRun:
    at: str
    """UTC, ISO 8601."""
    collection: str
    release_id: str
    build_key: str
    code: str
    machine: Mapping[str, str]
    """Host, processor, cores and the versions of what computes."""
    load: float | None
    """Programs that ran or waited for a core in the minute before; None where the system doesn't tell."""
    chunks: int
    questions: int
    """Asked by each strategy, warm-up apart."""
    failed: int
    """Of those, over all strategies."""
    figures: Mapping[str, float]
    """By name; one that could not be measured is not there."""

    @property
    def place(self) -> tuple[str | None, ...]:
        """Figures are comparable between runs that agree in it."""
        return tuple(self.machine.get(key) for key in TIMING)


_RUN = TypeAdapter(SpeedRun)


def append_run(folder: Path, run: SpeedRun, *, keep: int = KEEP_ROWS) -> None:
    """Add one run at the end; the caller holds a lock."""
    folder.mkdir(parents=True, exist_ok=True)
    append_row(folder / FILE, run, _RUN, keep=keep)


def read_runs(folder: Path) -> tuple[SpeedRun, ...]:
    """All runs, oldest first. A line cut short by a crash is left out."""
    return read_rows(folder / FILE, _RUN)
