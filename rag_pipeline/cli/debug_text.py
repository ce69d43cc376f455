"""What `debug` prints for people."""

from rich.text import Text

from rag_pipeline.cli.output import console, print_table, verbatim
from rag_pipeline.evaluation.debug.values import Diagnosis, Report, Seen, Suggestion


def print_report(report: Report) -> None:
    out = console()
    how = f"{report.strategy}" + (f" for {report.context}" if report.context else "")
    out.print(verbatim(report.question, "bold"))
    told = f"{report.collection} by {how}, release {report.release_id}, seen by {report.principal}"
    out.print(verbatim(told + (f", filters {dict(report.filters)}" if report.filters else ""), "dim"))
    out.print()
    for alarm in report.alarms:
        out.print(Text.assemble(("! ", "yellow"), verbatim(alarm.message), (f" ({alarm.name})", "dim")))
    for diagnosis in report.diagnoses:
        _print_diagnosis(diagnosis)
    if not report.diagnoses:
        _print_stages(report)


def _print_stages(report: Report) -> None:
    rows = [
        {"stage": stage.name, "of": stage.of, **{str(n): _seen(s) for n, s in enumerate(stage.first, start=1)}}
        for stage in report.stages
    ]
    width = max((len(row) for row in rows), default=0)
    columns = next((list(row) for row in rows if len(row) == width), [])
    if rows:
        print_table("what every stage ranked first", [{c: row.get(c) for c in columns} for row in rows])
    else:
        console().print("nothing was searched")
    console().print("Say what you expect with --expect DOC#quote to learn where it is lost.", style="dim")


def _print_diagnosis(diagnosis: Diagnosis) -> None:
    out = console()
    out.print()
    colour = "green" if diagnosis.reason == "found" else "red"
    out.print(Text.assemble(verbatim(diagnosis.expected, "bold"), ": ", (diagnosis.reason, colour)))
    out.print(verbatim(f"  {diagnosis.message}"))
    for note in diagnosis.notes:
        out.print(verbatim(f"  {note}", "dim"))
    for suggestion in diagnosis.suggestions:
        out.print(Text.assemble("  ", Text.from_markup(_mark(suggestion)), " ", verbatim(_told(suggestion))))
    if diagnosis.places:
        print_table(
            "where it stands",
            [
                {
                    "stage": place.stage + ("" if place.used else " (not used)"),
                    "rank": place.rank,
                    "of": place.of,
                    "go on": place.kept if place.used else None,
                    "score": None if place.score is None else f"{place.score:.3f}",
                }
                for place in diagnosis.places
            ],
        )
    if diagnosis.nearness is not None:
        near = diagnosis.nearness
        out.print(
            f"  cosine {near.passage:.3f}; the nearest chunk has {near.best:.3f}, the last candidate"
            f" {near.last_candidate:.3f}"
        )
    unknown = [t.token for t in diagnosis.terms if not t.chunks]
    lacking = [t.token for t in diagnosis.terms if t.chunks and not t.in_passage]
    shared = [t.token for t in diagnosis.terms if t.in_passage]
    for what, tokens in (("in the passage", shared), ("not in the passage", lacking), ("in no chunk", unknown)):
        if tokens:
            out.print(verbatim(f"  words {what}: {', '.join(tokens)}"))
    if diagnosis.strategies:
        ranks = ", ".join(f"{name} {rank or '-'}" for name, rank in diagnosis.strategies.items())
        out.print(f"  rank by other strategies: {ranks}")


def _mark(suggestion: Suggestion) -> str:
    if suggestion.works is None:
        return "[cyan]->[/cyan]"
    return "[green]->[/green]" if suggestion.works else "[dim]x[/dim]"


def _told(suggestion: Suggestion) -> str:
    settings = ", ".join(f"{key}={value}" for key, value in suggestion.settings.items())
    text = f"{suggestion.advice}: {settings}" if settings else suggestion.advice
    if suggestion.works:
        return f"{text}: with it, it ranks {suggestion.rank}"
    return f"{text}: {suggestion.outcome}" if suggestion.outcome else text


def _seen(seen: Seen) -> str:
    heading = f" {seen.headers[-1]}" if seen.headers else ""
    return f"{seen.document}:{seen.start}{heading} ({seen.score:.3f})"
