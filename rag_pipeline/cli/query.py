"""`rag-pipeline query`: search the release in service."""

from pathlib import Path
from typing import Any

import click

from rag_pipeline.cli.context import collection_to_read, settings_for
from rag_pipeline.cli.options import (
    collection_option,
    config_option,
    home_option,
    json_option,
    not_empty,
    principal_of,
    principal_options,
)
from rag_pipeline.errors import InvalidQuery
from rag_pipeline.schema import RetrievalResult

ANSWER_CONTEXT = "agent"
"""What an answer rests on where no preset is named."""


@click.command("query", short_help="Search the release in service.")
@click.argument("text")
@collection_option
@click.option(
    "-s", "--strategy", callback=not_empty, help="How to answer: hybrid, vector, bm25, or one of your settings."
)
@click.option(
    "--context",
    callback=not_empty,
    help="A preset: chatbot, agent, search, workflow, context_engineering, or one of yours.",
)
@click.option("-k", "--top-k", type=click.IntRange(1, 1000), help="Sections to return.")
@click.option("--explain", is_flag=True, help="Say for each result how every stage ranked it.")
@click.option(
    "-f",
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only documents that match, as category=security; the same key twice means either; a JSON value is taken "
    'as such: updated=\'{"gte": "2026-01-01"}\'.',
)
@click.option(
    "--read-filters",
    type=click.Choice(["none", "rules", "llm"]),
    help="Whether limits said in TEXT become filters, and by what. [default: the strategy's]",
)
@click.option("--answer", "wants_answer", is_flag=True, help="Answer with citations instead of listing results.")
@click.option(
    "--answerer",
    type=click.Choice(["extractive", "llm"]),
    help="With --answer: quote the passages, or ask the language model of RAG_PIPELINE_LLM_URL. [default: extractive]",
)
@principal_options("Search as this user; without it, public documents only.")
@home_option
@config_option
@json_option
def command(
    text: str,
    collection: str | None,
    strategy: str | None,
    context: str | None,
    top_k: int | None,
    explain: bool,
    filters: tuple[str, ...],
    read_filters: str | None,
    wants_answer: bool,
    answerer: str | None,
    identity: str | None,
    groups: tuple[str, ...],
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Search the release in service for TEXT.

    \b
    Examples:
      rag-pipeline query "How does AgentFactory work?"
      rag-pipeline query "what encryption is used?" -f category=security
      rag-pipeline query "salary bands" --as maria --group people-ops --json
      rag-pipeline query "rotate signing keys" --context agent
      rag-pipeline query "how often are keys rotated?" --answer
    """
    from rag_pipeline.cli.output import print_json, result_json
    from rag_pipeline.retrieval.retrieve import retrieve

    settings = settings_for(config, home)
    principal = principal_of(identity, groups)
    if answerer and not wants_answer:
        raise click.UsageError("--answerer needs --answer")
    overrides: dict[str, Any] = {"top_k": top_k, "read_filters": read_filters}
    name = collection_to_read(settings, collection)
    result = retrieve(
        text,
        collection=name,
        strategy=strategy,
        context=context or (ANSWER_CONTEXT if wants_answer else None),
        explain=explain,
        filters=parse_filters(filters) or None,
        principal=principal,
        home=settings.home,
        **{name: value for name, value in overrides.items() if value is not None},
    )
    if wants_answer:
        from rag_pipeline.cli.answering import answer_json, answer_to, print_answer

        answer = answer_to(result, answerer or "extractive", home=settings.home, collection=name)
        if as_json:
            print_json({**result_json(result), "answer": answer_json(answer)})
        else:
            print_answer(answer, result)
    elif as_json:
        print_json(result_json(result))
    else:
        print_result(result)


def parse_filters(given: tuple[str, ...]) -> dict[str, Any]:
    """`("category=security", "tags=a", "tags=b")` -> `{"category": "security", "tags": ["a", "b"]}`."""
    import json

    filters: dict[str, Any] = {}
    for item in given:
        key, equals, raw = item.partition("=")
        if not equals:
            raise InvalidQuery(f"filter {item!r} has no '='; write KEY=VALUE, as category=security")
        value: Any = raw
        if raw[:1] in "{[":
            try:
                value = json.loads(raw)
            except json.JSONDecodeError as error:
                raise InvalidQuery(f"filter {key!r}: {raw!r} is not JSON ({error}); quote it for the shell") from None
        if key in filters:
            before = filters[key] if isinstance(filters[key], list) else [filters[key]]
            value = [*before, *(value if isinstance(value, list) else [value])]
        filters[key] = value
    return filters


def print_result(result: RetrievalResult) -> None:
    import json

    from rich.text import Text

    from rag_pipeline.cli.output import console, explanation_rows, header_path, print_table, verbatim

    out = console()
    if not result.hits:
        out.print(f"nothing found ({result.empty_reason})")
    elif result.formatted_context is not None:
        out.print(verbatim(result.formatted_context))
    for hit in result.hits if result.formatted_context is None else ():
        place = f" [{hit.start}:{hit.end}]  score {hit.score:.3f}"
        out.print(Text.assemble(verbatim(f"{hit.rank}. {hit.doc_id}", "bold"), place))
        out.print(verbatim(f"   {header_path(hit)}", "cyan"))
        out.print(verbatim(_preview(hit.content)))
        out.print()
    if result.hits and result.hits[0].ranks:
        print_table("How every stage ranked it: rank (score)", explanation_rows(result.hits))
    if not result.hits or result.hits[0].ranks:
        for what, numbers in (("candidates", result.candidates), ("milliseconds", result.timings_ms)):
            if numbers:
                out.print(f"{what}: {', '.join(f'{stage} {round(n, 1)}' for stage, n in numbers.items())}")
    if result.read_filters:
        read = json.dumps(dict(result.read_filters), ensure_ascii=False)
        out.print(verbatim(f"filters read from the words: {read}"))
    total = result.timings_ms.get("total", 0.0)
    out.print(
        f"{len(result.hits)} sections by {result.strategy} in {total:.0f} ms, release {result.release_id}"
        + (f", {result.total_tokens} tokens for {result.context}" if result.context else "")
        + (f" ({', '.join(result.markers)})" if result.markers else ""),
        style="dim",
    )


def _preview(text: str, lines: int = 6, width: int = 160) -> str:
    from rag_pipeline.cli.output import visible

    shown = [line[:width] for line in text.strip().splitlines() if line.strip()]
    more = "\n   ..." if len(shown) > lines else ""
    return "\n".join(f"   {visible(line)}" for line in shown[:lines]) + more
