"""`rag-pipeline mcp`: retrieval for agents, over stdio."""

from pathlib import Path

import click

from rag_pipeline.cli.context import collection_to_read, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, principal_of, principal_options


@click.command("mcp", short_help="Serve retrieval to agents over the Model Context Protocol.")
@collection_option
@principal_options("Read as this user; without it, public documents only.")
@home_option
@config_option
def command(
    collection: str | None, identity: str | None, groups: tuple[str, ...], home: Path | None, config: Path | None
) -> None:
    """Serve retrieval to agents over the Model Context Protocol, on stdin and stdout.

    \b
    A client starts it by itself; in its settings:
      {"mcpServers": {"docs": {"command": "rag-pipeline", "args": ["mcp", "--home", "/srv/rag"]}}}
    """
    from rag_pipeline.serving.mcp_server import create_mcp

    principal = principal_of(identity, groups)
    settings = settings_for(config, home)
    create_mcp(settings, collection=collection_to_read(settings, collection), principal=principal).run("stdio")
