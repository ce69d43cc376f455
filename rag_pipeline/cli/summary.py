"""What a re-index did, for a person: the ledger in a few lines."""

from rag_pipeline.cli.output import console, print_table
from rag_pipeline.defs.launch import ReindexReport


def print_summary(report: ReindexReport) -> None:
    out = console()
    rows = [{"inputs": key, "count": n} for key, n in sorted(report.ledger_rules.items(), key=lambda i: (-i[1], i[0]))]
    if rows:
        print_table("ledger", rows)
    if report.rejected:
        out.print("rejected pieces: " + ", ".join(f"{n} {rule}" for rule, n in sorted(report.rejected.items())))
    changes = ", ".join(f"{n} {kind}" for kind, n in report.changes.items() if n) or "no document changed"
    out.print(f"{changes}; {report.documents} documents, {report.chunks} chunks")
    out.print(f"{report.embedded} embedded, {report.reused} from the cache; {report.seconds:.1f} s")
    verb = "published" if report.changed else "already in service"
    out.print(
        f"[bold]release {report.release}[/bold] {verb} (build {report.build_key}, collection {report.collection})"
    )
