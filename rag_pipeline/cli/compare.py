"""`rag-pipeline compare`: strategies of one or more releases on the same questions, as a leaderboard or a page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import (
    collection_option,
    config_option,
    home_option,
    html_option,
    json_option,
    not_empty,
)

PRINTED = ("strategy", "ndcg@10", "ndcg@10 95 %", "recall@5", "recall@10", "mrr@10", "change", "change interval")
PRINTED_LAST = ("verdict", "p95 ms", "n", "failed")


@click.command("compare", short_help="Compare retrieval strategies on an eval set.")
@click.option(
    "--strategies",
    metavar="A,B,...",
    callback=not_empty,
    help="The first is the reference. [default: all of the release]",
)
@click.option(
    "--eval-set",
    "eval_sets",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Questions; may be repeated. [default: the collection's own]",
)
@click.option(
    "--release",
    "release_ids",
    multiple=True,
    help="Release to ask; may be repeated, as to compare chunkers. [default: the one in service]",
)
@click.option(
    "--half",
    type=click.Choice(["tuning", "held_out", "both"]),
    default="tuning",
    show_default=True,
    help="Choose on the tuning half; report what was chosen on the held-out one. Known items have no halves.",
)
@html_option
@collection_option
@home_option
@config_option
@json_option
def command(
    strategies: str | None,
    eval_sets: tuple[Path, ...],
    release_ids: tuple[str, ...],
    half: str,
    html: Path | None,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """A leaderboard with intervals, and what each strategy changes against the first one.

    With several releases the reference is the first strategy of the first release; labels name text, so each release
    resolves them to its own sections, and two are paired on the questions that resolve in both. Without an eval set in
    the settings or on the command line, probes made from the corpus itself are asked. Results stay with the release;
    the next re-index, or `rag-pipeline eval log`, sends them to MLflow.

    \b
    Examples:
      rag-pipeline compare
      rag-pipeline compare --strategies hybrid,bm25,vector --eval-set ./questions --half held_out
      rag-pipeline compare --release 1e5359d93d685a99157d --release 0f256b311a9e2b546e40 --html report.html
    """
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.cli.progress import shown
    from rag_pipeline.evaluation.leaderboard import board
    from rag_pipeline.evaluation.measure import measure_release
    from rag_pipeline.evaluation.questions import questions_for
    from rag_pipeline.evaluation.split import Half
    from rag_pipeline.evaluation.unscored import unscored
    from rag_pipeline.paths import Home
    from rag_pipeline.release.stored import load_release
    from rag_pipeline.release.verify import in_service
    from rag_pipeline.settings.collection import CollectionSettings

    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    own = settings.collections.get(paths.root.name, CollectionSettings())
    releases = [load_release(paths, name) for name in dict.fromkeys(release_ids)] or [
        load_release(paths, in_service(paths))
    ]
    chosen = tuple(dict.fromkeys(strategies.split(","))) if strategies else _all(releases[0].default_strategy, releases)
    asked = [
        questions_for(paths, releases[0].release_id, own.model_copy(update={"eval_set": folder}))
        for folder in (map(str, eval_sets) if eval_sets else (own.eval_set,))
    ]
    if _given("half") and not any(questions.labelled for questions in asked):
        raise click.UsageError("known items have no halves, all are asked; leave out --half, or name an --eval-set")
    with shown(quiet=as_json) as progress:
        measured = [
            measure_release(
                paths,
                release.release_id,
                questions.eval_set,
                models=Home(settings.home).models,
                strategies=chosen,
                half=Half(half) if questions.labelled else Half.BOTH,
                progress=progress,
            )
            for questions in asked
            for release in releases
        ]
    left_out = unscored(measured)
    rows = board(measured, reference=chosen[0], settings=own.gate)
    if html is not None:
        from rag_pipeline.durable import write_private
        from rag_pipeline.evaluation.report.page import html_report

        write_private(html, html_report(measured, reference=chosen[0], settings=own.gate, notes=left_out))
    if as_json:
        first = measured[0]
        about = {
            "release": first.release_id,
            "eval_set": first.eval_set,
            "eval_set_hash": first.eval_set_hash,
            "half": first.half.value,
            "reference": chosen[0],
            "compared": [
                {
                    "release": e.release_id,
                    "build_key": e.build_key,
                    "eval_set": e.eval_set,
                    "eval_set_hash": e.eval_set_hash,
                    "half": e.half.value,
                    "could_not_run": e.could_not_run,
                }
                for e in measured
            ],
        }
        print_json({**about, "leaderboard": rows})
        return
    where = [name for name in ("release", "eval set") if len({row[name] for row in rows}) > 1]
    columns = ("strategy", *where, *PRINTED[1:], *PRINTED_LAST)
    part = "both halves" if half == "both" else f"{half} half"
    sets = ", ".join(f"{q.eval_set.name} ({part})" if q.labelled else q.eval_set.name for q in asked)
    names = ", ".join(dict.fromkeys(e.release_id for e in measured))
    print_table(f"{sets}, release {names}, against {chosen[0]}", [_shown(row, columns) for row in rows])
    for line in (*left_out, *_refused(rows), *_unsure(rows)):
        click.echo(line)
    if html is not None:
        click.echo(f"the report is in {html} (readable by you alone: it quotes questions of whoever asked)")


def _given(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def _all(default: str, releases: Sequence[object]) -> tuple[str, ...]:
    """Strategies that all the releases have; the default first: it is what the others have to beat."""
    from rag_pipeline.schema import Release

    tables = [r.strategies for r in releases if isinstance(r, Release)]
    return (default, *(name for name in tables[0] if name != default and all(name in t for t in tables)))


def _shown(row: Mapping[str, object], columns: Sequence[str]) -> dict[str, object]:
    """Why a strategy could not run is a line below the table, not a column of it."""
    from rag_pipeline.evaluation.leaderboard import COULD_NOT_RUN

    cells = {name: _digits(name, row[name]) for name in columns}
    if str(row["verdict"]).startswith(COULD_NOT_RUN):
        cells["verdict"] = COULD_NOT_RUN
    return cells


def _digits(name: str, value: object) -> object:
    """Differences of strategies are in the third decimal, those of times in whole milliseconds."""
    if not isinstance(value, float):
        return value
    return f"{value:.0f}" if name.endswith(" ms") else f"{value:+.3f}" if name == "change" else f"{value:.3f}"


def _refused(rows: Sequence[Mapping[str, object]]) -> list[str]:
    from rag_pipeline.evaluation.leaderboard import COULD_NOT_RUN

    return [f"{row['strategy']} {row['verdict']}" for row in rows if str(row["verdict"]).startswith(COULD_NOT_RUN)]


def _unsure(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """The smallest loss that the questions can show, where they could not decide something."""
    losses = [row["smallest detectable loss"] for row in rows if row["verdict"] == "insufficient evidence"]
    found = [loss for loss in losses if isinstance(loss, float)]
    if not found:
        return []
    return [f"insufficient evidence: a loss smaller than {max(found):.3f} is not found reliably by this many questions"]
