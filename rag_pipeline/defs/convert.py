"""Plain results into Dagster's: check results, and tables as metadata."""

from collections.abc import Mapping, Sequence

import dagster as dg

from rag_pipeline.checks import CheckResult


def check_result(
    result: CheckResult, *, severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR
) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=result.passed, severity=severity, description=result.message, metadata=dict(result.numbers)
    )


def table(
    rows: Sequence[Mapping[str, str | int | float | bool | None]],
) -> dg.TableMetadataValue | dg.TextMetadataValue:
    """Rows with the same columns as a table; no rows as a word."""
    if not rows:
        return dg.MetadataValue.text("none")
    return dg.MetadataValue.table([dg.TableRecord(dict(row)) for row in rows], schema=_schema(rows[0]))


def counts_table(counts: Mapping[str, int], *, name: str) -> dg.TableMetadataValue | dg.TextMetadataValue:
    return table([{name: key, "count": n} for key, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))])


def _schema(row: Mapping[str, object]) -> dg.TableSchema:
    types: dict[type, str] = {bool: "bool", int: "int", float: "float"}
    return dg.TableSchema([dg.TableColumn(name, types.get(type(value), "string")) for name, value in row.items()])
