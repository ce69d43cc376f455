"""`rag-pipeline benchmarks`: how fast the release in service is here, beside what it was before."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option

if TYPE_CHECKING:
    from rag_pipeline.evaluation.speed_history import SpeedRun

LOCK_WAIT_SECONDS = 600.0


@click.command("benchmarks", short_help="Measure how fast the release in service is, and log it to MLflow.")
@collection_option
@home_option
@config_option
@json_option
def command(collection: str | None, home: Path | None, config: Path | None, as_json: bool) -> None:
    """Measure how fast the release in service is: warm and cold queries, embedding, opening, size, memory.

    It takes about half a minute, adds a line to the collection's history and logs the figures to MLflow; the Dagster
    job `<collection>_benchmarks` does the same. Each figure is compared with the median of earlier runs on this
    machine. A re-index waits until it is done.

    \b
    Example:
      rag-pipeline benchmarks --collection docs
    """
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.cli.progress import shown
    from rag_pipeline.evaluation.speed import measure_speed
    from rag_pipeline.evaluation.speed_check import against_earlier
    from rag_pipeline.evaluation.speed_history import read_runs
    from rag_pipeline.paths import Home
    from rag_pipeline.release.clock import now
    from rag_pipeline.release.lock import build_lock
    from rag_pipeline.settings.collection import CollectionSettings
    from rag_pipeline.tracking.speed import log_speed

    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    name = paths.root.name
    own = settings.collections.get(name, CollectionSettings())
    with shown(quiet=as_json) as progress, build_lock(paths, wait_seconds=LOCK_WAIT_SECONDS):
        run = measure_speed(Home(settings.home), name, own, at=now(), progress=progress)
    logged = log_speed(paths, settings=settings)
    runs = read_runs(paths.benchmarks)
    check = against_earlier(runs)
    if as_json:
        print_json({"run": run, "check": check, "logged": logged})
        return
    load = "unknown" if run.load is None else f"{run.load:.1f}"
    machine = f"{run.machine['processor']}, {run.machine['cores']} cores, load {load}"
    click.echo(f"{name}, release {run.release_id}, {run.chunks} chunks; {machine}")
    print_table("", _rows(run, runs))
    click.echo(check.message)
    if logged is not None and logged.state == "not_sent":
        click.echo(f"not logged: {logged.error}; the next run sends it", err=True)


def _rows(run: "SpeedRun", runs: "tuple[SpeedRun, ...]") -> list[dict[str, object]]:
    from rag_pipeline.evaluation.speed_check import is_worse, usual

    medians = usual(runs)
    return [
        {
            "figure": name,
            "now": _digits(value),
            "median before": _digits(medians[name]) if name in medians else None,
            "verdict": "worse" if name in medians and is_worse(name, value, medians[name]) else "",
        }
        for name, value in run.figures.items()
    ]


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
