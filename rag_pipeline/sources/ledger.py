"""The read ledger: one entry for what became of every input, and notices beside them.

Lives here: keeping it while a snapshot is taken, and the counts that people look at. The chunk and embed stages keep
their own files of the same rows.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rag_pipeline.errors import TooManyFailures
from rag_pipeline.parquet import read_rows
from rag_pipeline.schema import LedgerEntry

SHOWN = 5


class ReadLedger:
    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []
        self._paths: set[str] = set()

    def has(self, path: str) -> bool:
        """Whether an input of this path has its entry."""
        return path in self._paths

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        for entry in entries:
            if entry.outcome != "notice":
                # Names that differ only in bytes that are no UTF-8 can meet; each input keeps an entry of its own.
                while entry.path in self._paths:
                    entry = replace(entry, path=f"{entry.path} (again)")
                self._paths.add(entry.path)
            self.entries.append(entry)

    @property
    def inputs(self) -> list[LedgerEntry]:
        return [e for e in self.entries if e.outcome != "notice"]

    def counts(self) -> dict[str, int]:
        """Inputs by outcome."""
        return dict(sorted(Counter(e.outcome for e in self.inputs).items()))

    def rules(self) -> dict[str, int]:
        """All entries, notices too, by "outcome:rule"."""
        return dict(sorted(Counter(f"{e.outcome}:{e.rule}" for e in self.entries).items()))

    def check_failures(self, max_failed_share: float) -> None:
        """Raises TooManyFailures above the share of what was tried; one failure alone stops a run only at share 0."""
        failed = [e for e in self.entries if e.outcome == "failed"]
        tried = sum(1 for e in self.inputs if e.outcome != "skipped")
        allowed = max(1, int(max_failed_share * tried)) if max_failed_share > 0 else 0
        if len(failed) <= allowed:
            return
        shown = "; ".join(f"{e.path}: {e.rule}" + (f" ({e.detail})" if e.detail else "") for e in failed[:SHOWN])
        more = f"; and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
        raise TooManyFailures(
            f"{len(failed)} of {tried} inputs failed, {allowed} are allowed: {shown}{more}. "
            "Mend or exclude them, or raise max_failed_share"
        )


def not_indexed(snapshot: Path) -> list[LedgerEntry]:
    """The inputs that this snapshot has no document of though somebody might expect one: failed, then skipped."""
    entries = read_rows(snapshot / "ledger.parquet", LedgerEntry)
    return sorted((e for e in entries if e.outcome in ("failed", "skipped")), key=lambda e: (e.outcome, e.path))


def entry_cells(entry: LedgerEntry) -> dict[str, str]:
    return {"input": entry.path, "outcome": entry.outcome, "rule": entry.rule, "detail": entry.detail}
