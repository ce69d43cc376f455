"""`rag-pipeline doctor`: what this installation can do, and what to do about what it can't."""

from pathlib import Path

import click

from rag_pipeline.cli.context import settings_for
from rag_pipeline.cli.options import config_option, home_option, json_option


@click.command("doctor", short_help="Check this installation and say what to do about each problem.")
@home_option
@config_option
@json_option
def command(home: Path | None, config: Path | None, as_json: bool) -> int:
    """Check Python, DuckDB and its extensions, models, the data directory and every release in service.

    Exits 1 if something is broken. A part that is merely not installed is reported, not counted.
    """
    from rag_pipeline.cli.diagnosis import diagnose
    from rag_pipeline.cli.output import print_json, print_table

    settings = settings_for(config, home)
    findings = diagnose(settings)
    broken = [f for f in findings if f.state == "broken"]
    if as_json:
        print_json({"findings": findings, "broken": len(broken)})
    else:
        print_table("doctor", [{"check": f.check, "state": f.state, "detail": f.detail} for f in findings])
        click.echo(f"{len(broken)} broken" if broken else "all well")
    return 1 if broken else 0
