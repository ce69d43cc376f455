"""`rag-pipeline demo`: the main job on the bundled corpus, then the five product queries."""

from dataclasses import dataclass
from pathlib import Path

import click

from rag_pipeline.cli.context import settings_for
from rag_pipeline.cli.options import config_option, home_option, json_option

COLLECTION = "agent_platform"


@dataclass(frozen=True, slots=True)
class ProductQuery:
    text: str
    expect: str
    """What must stand in the top result, so that a wrong answer shows."""


QUERIES = (
    ProductQuery("How does AgentFactory work?", "create_agent"),
    ProductQuery("Show me agent creation flow", "-->"),
    ProductQuery("database schema", "CREATE TABLE"),
    ProductQuery("workflow execution", "WorkflowExecutor"),
    ProductQuery("RAG retrieval", "retriev"),
)


@click.command("demo", short_help="Index the bundled corpus, publish it and answer the five product queries.")
@home_option
@config_option
@json_option
def command(home: Path | None, config: Path | None, as_json: bool) -> int:
    """Index the bundled corpus through Dagster, publish it, and answer the five product queries.

    Exits 1 if a top result is not the expected one.
    """
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.cli.progress import shown
    from rag_pipeline.cli.summary import print_summary
    from rag_pipeline.defs.launch import reindex
    from rag_pipeline.retrieval.retrieve import retrieve

    settings = settings_for(config, home)
    with shown(quiet=as_json) as progress:
        report = reindex(settings, COLLECTION, progress=progress)
    retrieve(QUERIES[0].text, collection=COLLECTION, home=settings.home)  # loads the model; not timed
    rows = []
    for query in QUERIES:
        result = retrieve(query.text, collection=COLLECTION, home=settings.home)
        top = result.hits[0] if result.hits else None
        rows.append(
            {
                "query": query.text,
                "top result": top.doc_id if top else None,
                "section": " > ".join(title for _, title in top.headers[-2:]) if top else None,
                "span": f"{top.start}:{top.end}" if top else None,
                "ms": round(result.timings_ms["total"], 1),
                "as expected": bool(top and query.expect.lower() in top.content.lower()),
            }
        )
    if as_json:
        print_json({"reindex": report, "queries": rows})
    else:
        print_summary(report)
        print_table("the five product queries", rows)
    return 0 if all(row["as expected"] for row in rows) else 1
