"""The command line: one file a command, imported when it is called, so that `query` never loads Dagster."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from rag_pipeline.errors import RagPipelineError, StorageUnavailable

COMMANDS = {
    "demo": "Index the bundled corpus, publish it and answer the five product queries.",
    "reindex": "Read, chunk, embed, build, verify and publish a collection.",
    "query": "Search the release in service.",
    "debug": "Say why a known answer is not found: where it is lost, and what would bring it back.",
    "serve": "Serve the HTTP API and the playground page.",
    "mcp": "Serve retrieval to agents over the Model Context Protocol.",
    "release": "List, show, verify, roll back, collect and reproduce releases.",
    "evalset": "Make and check eval sets: from real questions, by judging, by a model.",
    "compare": "Compare retrieval strategies on an eval set.",
    "answers": "Measure answers: key facts, faithfulness by each judge, abstention, cost.",
    "diff": "Compare two releases question by question.",
    "eval": "Log stored evaluations to MLflow.",
    "benchmarks": "Measure how fast the release in service is, and log it to MLflow.",
    "variant": "Build a collection otherwise beside the one in service, to compare the two.",
    "doctor": "Check this installation and say what to do about each problem.",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"rag_pipeline.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # From the table above, so that --help imports no command.
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rag-pipeline")
def cli() -> None:
    """An index you can trust: immutable builds, measured before anyone reads them, served in milliseconds.

    \b
    Start here:
      rag-pipeline demo                              index the bundled corpus and query it
      rag-pipeline reindex --source ./docs           index a folder of yours, as collection docs
      rag-pipeline query -c docs "rotate keys"       search what is in service

    Data is kept in $RAG_PIPELINE_HOME (default ./data); settings come from $RAG_PIPELINE_CONFIG or ./rag_pipeline.toml.
    Exit codes: 0 done, 2 wrong usage, 3 settings, 4 source, 5 unknown name, 6 empty query, 7 nothing published,
    8 incompatible build, 9 corrupt build, 10 model unavailable, 11 missing extra, 12 busy, 13 too many failures,
    14 release refused, 15 eval set, 16 stage failed (strict), 17 data directory unusable, 130 aborted, 1 anything else.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point: an error of ours is one line on stderr (one object with --json) and its own exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        outcome: Any = cli.main(args=args, standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("aborted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except RagPipelineError as error:
        report_error(error, as_json="--json" in args)
        sys.exit(error.exit_code)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            _leave_quietly()
        report_error(StorageUnavailable.of(error), as_json="--json" in args)
        sys.exit(StorageUnavailable.exit_code)
    sys.exit(outcome if isinstance(outcome, int) else 0)


def _leave_quietly() -> NoReturn:
    """The reader of our output (head, less) went away; keep the interpreter's exit from writing to it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def report_error(error: RagPipelineError, *, as_json: bool) -> None:
    if as_json:
        import json

        problem = {"type": type(error).__name__, "message": str(error), "exit_code": error.exit_code}
        click.echo(json.dumps({"error": problem}, ensure_ascii=False))
    else:
        click.echo(f"error: {error}", err=True)
