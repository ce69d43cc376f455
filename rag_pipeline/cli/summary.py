"""What a re-index did, for a person: the ledger and the verdict in a few lines."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_pipeline.cli.output import console, print_table, verbatim
from rag_pipeline.defs.launch import ReindexReport

NAMED = 5


def print_summary(report: ReindexReport) -> None:
    out = console()
    rows = [{"inputs": key, "count": n} for key, n in sorted(report.ledger_rules.items(), key=lambda i: (-i[1], i[0]))]
    if rows:
        print_table("ledger", rows)
    for line in not_indexed_lines(report.not_indexed):
        out.print(verbatim(line))
    if report.rejected:
        out.print("rejected pieces: " + ", ".join(f"{n} {rule}" for rule, n in sorted(report.rejected.items())))
    changes = ", ".join(f"{n} {kind}" for kind, n in report.changes.items() if n) or "no document changed"
    out.print(f"{changes}; {report.documents} documents, {report.chunks} chunks")
    out.print(f"{report.embedded} embedded, {report.reused} from the cache; {report.seconds:.1f} s")
    for line in verdict_lines(report.verdict):
        out.print(verbatim(line))
    verb = "published" if report.changed else "already in service"
    out.print(
        f"[bold]release {report.release}[/bold] {verb} (build {report.build_key}, collection {report.collection})"
    )


def not_indexed_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """By name, so that a file somebody misses is seen at once."""
    lines = [
        f"not indexed: {row['input']} ({row['rule']}{': ' if row['detail'] else ''}{row['detail']})"
        for row in rows[:NAMED]
    ]
    if len(rows) > NAMED:
        lines.append(f"and {len(rows) - NAMED} more; --json lists them")
    return lines


def verdict_lines(verdict: Mapping[str, Any]) -> list[str]:
    """What was compared with what, the numbers, and how small a loss could have been seen."""
    lines = [f"verdict: {verdict['decision']}; {verdict['reason']}"]
    for row in verdict["comparisons"]:
        lines.append(
            f"  {row['strategy']} against the {_reference(row)}: {row['metric']} {row['before']:.3f} -> "
            f"{row['after']:.3f} ({row['difference']:+.3f}, 90 % interval {row['low']:+.3f} to {row['high']:+.3f}) on "
            f"{row['n']} questions, {row['changed']} changed: {row['finding']}; smallest detectable loss "
            f"{row['smallest detectable loss']:.3f}"
        )
    return lines


def _reference(row: Mapping[str, Any]) -> str:
    name = "release in service" if row["reference"] == "in service" else row["reference"]
    return f"{name} {row['release']}"
