"""`rag-pipeline eval`: what is done with stored evaluations."""

import click

from rag_pipeline.cli.eval_log import log_command


@click.group("eval", short_help="Log stored evaluations to MLflow.")
def command() -> None:
    """Stored evaluations of releases, and where they are logged."""


command.add_command(log_command)
