"""`rag-pipeline evalset`: the commands about eval sets, one file each, imported when it is called."""

import importlib

import click

COMMANDS = {
    "check": "Say what is wrong with an eval set, by file and line.",
    "new": "Make one: judge pooled passages, or let a language model ask.",
    "from-log": "Make one from questions that a server recorded.",
}


class EvalsetGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"rag_pipeline.cli.evalset_{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("evalset", cls=EvalsetGroup, short_help="Make and check eval sets.")
def command() -> None:
    """Make and check eval sets: questions, and labels that name passages (the format: eval_sets/README.md)."""
