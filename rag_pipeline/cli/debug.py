"""`rag-pipeline debug`: why a known answer is not found, stage by stage."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import (
    collection_option,
    config_option,
    home_option,
    json_option,
    not_empty,
    principal_of,
    principal_options,
)
from rag_pipeline.schema import Principal

if TYPE_CHECKING:
    from rag_pipeline.evaluation.eval_set import EvalSet


@click.command("debug", short_help="Say why a known answer is not found.")
@click.argument("question", required=False)
@click.option(
    "--expect",
    "expected",
    multiple=True,
    metavar="DOC[#PART]",
    help="What should be found: a document id, and after # a heading (or heading path joined by ' > ') or a quote.",
)
@click.option("--query-id", metavar="ID", help="A question of the eval set, with its filters, principal and labels.")
@click.option("-s", "--strategy", callback=not_empty, help="Strategy to examine. [default: the release's]")
@click.option("--context", callback=not_empty, help="Preset to examine; then the token budget is looked at too.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting, as candidates=200.")
@click.option("-f", "--filter", "filters", multiple=True, metavar="KEY=VALUE", help="As in `query`.")
@principal_options("Look through this user's eyes. [default: the public's]")
@click.option("--system", is_flag=True, help="Look past all access lists.")
@click.option("--release", "release_id", help="Release to examine. [default: the one in service]")
@click.option("--eval-set", type=click.Path(path_type=Path, file_okay=False), help="Where --query-id is looked up.")
@collection_option
@home_option
@config_option
@json_option
def command(
    question: str | None,
    expected: tuple[str, ...],
    query_id: str | None,
    strategy: str | None,
    context: str | None,
    overrides: tuple[str, ...],
    filters: tuple[str, ...],
    identity: str | None,
    groups: tuple[str, ...],
    system: bool,
    release_id: str | None,
    eval_set: Path | None,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Say for QUESTION why the --expect'ed passage is not found: where it is lost, and what would bring it back.

    Without --expect it shows what every stage ranked first and what looks suspicious. It reads the data directory, so
    it is an operator's tool; whose eyes it looks through is an option, and nothing they may not see is printed.

    \b
    Examples:
      rag-pipeline debug "how do I rotate the keys?"
      rag-pipeline debug "how do I rotate the keys?" --expect "keys/rotation.md#When rotation fails"
      rag-pipeline debug "band four" --expect people/salaries.md --as maria --group people-ops
      rag-pipeline debug --query-id ap-a-007 --context chatbot
    """
    from rag_pipeline.cli.debug_text import print_report
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.cli.query import parse_filters
    from rag_pipeline.evaluation.debug.ledger import input_names
    from rag_pipeline.evaluation.debug.passage import expected_of, parse_expected
    from rag_pipeline.evaluation.debug.report import examine
    from rag_pipeline.evaluation.debug.values import Asked
    from rag_pipeline.paths import Home
    from rag_pipeline.release.stored import check_known
    from rag_pipeline.retrieval.reader import open_current, open_release

    if (question is None) == (query_id is None):
        raise click.UsageError("give either a QUESTION or --query-id")
    if query_id is not None and (filters or identity or system):
        raise click.UsageError("--query-id brings its own filters and principal; leave -f, --as and --system out")
    if any(not given.partition("#")[0].strip() for given in expected):
        raise click.UsageError("--expect needs a document id, as keys/rotation.md or keys/rotation.md#a heading")
    if identity and system:
        raise click.UsageError("--as and --system exclude each other")
    principal = Principal.system() if system else principal_of(identity, groups)
    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    if release_id is not None:
        check_known(paths, release_id)
    opened = open_release(paths, release_id) if release_id else open_current(paths)
    known = input_names(opened.index)
    wanted = [parse_expected(given, known) for given in expected]
    asked = Asked(question or "", strategy, context, parse_filters(filters), principal, _overrides(overrides))
    if query_id is not None:
        asked, labels = _of_eval_set(_eval_set(settings, paths.root.name, eval_set), query_id, asked)
        wanted += [expected_of(label) for label in labels]
    report = examine(opened, asked, models=Home(settings.home).models, expected=tuple(dict.fromkeys(wanted)))
    if as_json:
        print_json(report)
    else:
        print_report(report)


def _overrides(given: tuple[str, ...]) -> dict[str, Any]:
    from rag_pipeline.cli.assignments import assignment

    return dict(assignment(item) for item in given)


def _eval_set(settings: Any, collection: str, given: Path | None) -> "EvalSet":
    from rag_pipeline.errors import InvalidEvalSet
    from rag_pipeline.evaluation.labels import load_eval_set
    from rag_pipeline.settings.collection import CollectionSettings

    own = settings.collections.get(collection, CollectionSettings()).eval_set
    folder = given or (Path(own) if own is not None else None)
    if folder is None:
        raise InvalidEvalSet(f"{collection} has no eval set; give one with --eval-set, or ask a question instead")
    return load_eval_set(folder)


def _of_eval_set(eval_set: "EvalSet", query_id: str, asked: Any) -> Any:
    """(asked as that question is, its labels). Raises UnknownName."""
    from dataclasses import replace

    from rag_pipeline.settings.base import pick

    query = pick({q.id: q for q in eval_set.queries}, query_id, "query id")
    labels = sorted(eval_set.judgements_of[query_id], key=lambda label: -label.grade)
    return replace(asked, question=query.text, filters=query.filters, principal=query.principal), labels
