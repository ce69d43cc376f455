"""Counting what became of inputs, and stopping where too many failed."""

from pathlib import Path

import pytest

from rag_pipeline.errors import TooManyFailures
from rag_pipeline.parquet import write_rows
from rag_pipeline.schema import LedgerEntry, Outcome
from rag_pipeline.sources.ledger import ReadLedger, entry_cells, not_indexed


def ledger(**outcomes: int) -> ReadLedger:
    found = ReadLedger()
    for outcome, count in outcomes.items():
        kind: Outcome = outcome  # type: ignore[assignment]
        found.add(LedgerEntry(f"{outcome}/{i}", "read", kind, "rule", "why") for i in range(count))
    return found


def test_counts() -> None:
    found = ledger(indexed=2, skipped=1, notice=3)
    assert found.counts() == {"indexed": 2, "skipped": 1}
    assert found.rules() == {"indexed:rule": 2, "notice:rule": 3, "skipped:rule": 1}
    assert found.has("indexed/0")
    assert not found.has("notice/0")


def test_two_inputs_of_one_name_keep_an_entry_each() -> None:
    found = ReadLedger()
    found.add([LedgerEntry("a", "read", "skipped", "x")] * 3)
    assert [e.path for e in found.entries] == ["a", "a (again)", "a (again) (again)"]


@pytest.mark.parametrize(
    ("outcomes", "share", "stops"),
    [
        ({"indexed": 100, "failed": 5}, 0.05, False),
        ({"indexed": 100, "failed": 6}, 0.05, True),
        ({"indexed": 2, "failed": 1}, 0.05, False),
        ({"indexed": 2, "failed": 2}, 0.05, True),
        ({"indexed": 2, "failed": 1}, 0.0, True),
        ({"failed": 1}, 0.05, False),
        ({"failed": 3}, 1.0, False),
        ({"skipped": 1000, "indexed": 10, "failed": 2}, 0.05, True),
        ({}, 0.0, False),
    ],
)
def test_too_many_failures(outcomes: dict[str, int], share: float, stops: bool) -> None:
    found = ledger(**outcomes)
    if not stops:
        found.check_failures(share)
        return
    with pytest.raises(TooManyFailures, match=r"failed/0: rule \(why\)"):
        found.check_failures(share)


def test_the_first_few_are_named() -> None:
    with pytest.raises(TooManyFailures, match=r"8 of 8 inputs failed.*failed/4.*and 3 more.*raise max_failed_share"):
        ledger(failed=8).check_failures(0.5)


def test_failed_inputs_come_before_skipped_ones_and_no_others(tmp_path: Path) -> None:
    write_rows(
        tmp_path / "ledger.parquet", LedgerEntry, ledger(skipped=2, indexed=3, filtered=1, failed=1, notice=1).entries
    )
    found = not_indexed(tmp_path)
    assert [entry.path for entry in found] == ["failed/0", "skipped/0", "skipped/1"]
    assert entry_cells(found[0]) == {"input": "failed/0", "outcome": "failed", "rule": "rule", "detail": "why"}
