"""Properties of a snapshot, checked on its files."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from rag_pipeline.checks import CheckResult
from rag_pipeline.parquet import read_rows
from rag_pipeline.schema import LedgerEntry
from rag_pipeline.sources.ledger import SHOWN


def ledger_reconciles(snapshot: Path) -> CheckResult:
    """Every input has one outcome, and the documents are exactly the indexed inputs and their exact duplicates."""
    entries = [e for e in _ledger(snapshot) if e.outcome != "notice"]
    twice = sorted(path for path, n in Counter(e.path for e in entries).items() if n > 1)
    expected = {e.path for e in entries if e.outcome == "indexed" or (e.outcome, e.rule) == ("filtered", "duplicate")}
    ids: list[str] = pq.read_table(snapshot / "documents.parquet", columns=["doc_id"])["doc_id"].to_pylist()
    lost = sorted(expected - set(ids))
    unlisted = sorted(set(ids) - expected)
    repeated = sorted(i for i, n in Counter(ids).items() if n > 1)
    numbers = {"inputs": len(entries), "documents": len(ids)}
    faults = {"two outcomes": twice, "no document": lost, "no entry": unlisted, "twice": repeated}
    problems = [f"{what}: {', '.join(names[:SHOWN])}" for what, names in faults.items() if names]
    if problems:
        return CheckResult(False, f"{'; '.join(problems)}. Delete {snapshot} and take the snapshot again", numbers)
    return CheckResult(True, f"{len(entries)} inputs, {len(ids)} documents, none unaccounted for", numbers)


def no_failed_inputs(snapshot: Path) -> CheckResult:
    """No input failed to be read."""
    failed = [e for e in _ledger(snapshot) if e.outcome == "failed"]
    numbers = {"failed": len(failed)}
    if not failed:
        return CheckResult(True, "no input failed", numbers)
    shown = "; ".join(f"{e.path}: {e.rule} {e.detail}".rstrip() for e in failed[:SHOWN])
    more = f"; and {len(failed) - SHOWN} more, see ledger.parquet" if len(failed) > SHOWN else ""
    return CheckResult(False, f"{len(failed)} inputs failed: {shown}{more}. Mend or exclude them", numbers)


def _ledger(snapshot: Path) -> list[LedgerEntry]:
    return list(read_rows(snapshot / "ledger.parquet", LedgerEntry))
