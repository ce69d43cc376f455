"""`rag-pipeline eval log`: log evaluations that aren't logged yet."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option

if TYPE_CHECKING:
    from rag_pipeline.tracking.pending import Outcome


@click.command("log", short_help="Log evaluations to MLflow that aren't logged yet.")
@click.argument("release_id", metavar="[RELEASE]", required=False)
@click.option("--all", "every", is_flag=True, help="Of every stored release of the collection.")
@collection_option
@home_option
@config_option
@json_option
def log_command(
    release_id: str | None, every: bool, collection: str | None, home: Path | None, config: Path | None, as_json: bool
) -> int:
    """Log a release's evaluations to MLflow; exits 16 where one could not be sent. Default: the release in service.

    Runs do this by themselves; this sends what stayed behind while the server could not be reached. What is logged
    already is not logged twice. Where to: $MLFLOW_TRACKING_URI, else [tracking] in the settings, else mlflow.db in the
    data directory (`mlflow ui --backend-store-uri sqlite:///data/mlflow.db` shows it; choose Model training there).

    \b
    Examples:
      rag-pipeline eval log
      rag-pipeline eval log --all
    """
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.errors import StageFailed
    from rag_pipeline.release.stored import release_ids
    from rag_pipeline.release.verify import in_service
    from rag_pipeline.tracking.destination import destination_of
    from rag_pipeline.tracking.pending import log_releases

    if release_id and every:
        raise click.UsageError("name a RELEASE or --all, not both")
    settings = settings_for(config, home)
    destination = destination_of(settings)
    paths = served_collection(settings, collection)
    chosen = release_ids(paths) if every else (release_id or in_service(paths),)
    outcomes = list(log_releases(settings, paths, chosen)) if destination is not None else []
    failed = [o for o in outcomes if o.logged is not None and o.logged.state == "not_sent"]
    where = destination.shown if destination is not None else None
    if as_json:
        print_json({"collection": paths.root.name, "destination": where, "evaluations": outcomes})
    elif destination is None:
        click.echo("tracking is switched off; set tracking.enabled = true to log")
    else:
        print_table(f"{paths.root.name} -> {where}", [_row(outcome) for outcome in outcomes])
        for outcome in failed:
            assert outcome.logged is not None
            click.echo(f"error: {outcome.release_id}, {outcome.evaluation}: {outcome.logged.error}", err=True)
        if failed:
            click.echo("nothing is lost: the same command sends what is left", err=True)
    return StageFailed.exit_code if failed else 0


def _row(outcome: "Outcome") -> dict[str, object]:
    logged = outcome.logged
    cells: tuple[object, ...] = ("not tried", "", 0, "")
    if logged is not None:
        state = logged.state.replace("_", " ")
        cells = (state, logged.url or logged.run_id or "", len(logged.children), "; ".join(logged.notes))
    named = dict(zip(("state", "run", "strategies", "notes"), cells, strict=True))
    return {"release": outcome.release_id, "evaluation": outcome.evaluation, **named}
