"""`rag-pipeline evalset new`: an eval set for a collection, judged by a person or asked by a language model."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.evalset_folder import EvalSetFolder
from rag_pipeline.cli.options import (
    RESTRICTED_SET,
    collection_option,
    config_option,
    home_option,
    json_option,
    not_empty,
    principal_of,
    principal_options,
)
from rag_pipeline.errors import InvalidEvalSet

if TYPE_CHECKING:
    from rag_pipeline.retrieval.reader import OpenRelease


@click.command("new", short_help="Make a set: judge pooled passages, or let a language model ask.")
@click.argument("folder", type=EvalSetFolder())
@click.option(
    "--questions",
    type=click.Path(path_type=Path, dir_okay=False),
    help="One question a line, or a .jsonl file as queries.jsonl or candidates.jsonl. [default: you are asked]",
)
@click.option(
    "--strategies",
    metavar="A,B,...",
    callback=not_empty,
    help="Whose results are pooled. [default: bm25,vector,hybrid]",
)
@click.option("--depth", type=click.IntRange(1, 100), default=10, show_default=True, help="Results of each strategy.")
@click.option("--synthetic", type=click.IntRange(1, 10_000), metavar="N", help="N questions by a language model.")
@click.option("--seed", type=int, default=0, show_default=True, help="Order of passages, choice of sections.")
@principal_options("Ask as this user; without it, only public documents are quoted.")
@collection_option
@home_option
@config_option
@json_option
def command(
    folder: Path,
    questions: Path | None,
    strategies: str | None,
    depth: int,
    synthetic: int | None,
    seed: int,
    identity: str | None,
    groups: tuple[str, ...],
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Make an eval set in FOLDER, or add to the one that is there.

    For each question the best results of several strategies are pooled and shown to you one by one, in an order that
    tells nothing of who found them; you grade each from 0 to 3. Every grade is stored at once: stop with q, or be
    interrupted, and the same command goes on where you were. A question enters the set when all of its passages are
    judged. What is in no pool counts as not relevant, so pool strategies that differ.

    With --synthetic N a language model ($RAG_PIPELINE_LLM_URL) writes questions about sections of the corpus until the
    set has N. Each is checked (its answer is a quote that occurs once in its section, it copies neither heading nor
    passage), tagged `synthetic`, and eval_set.toml says so. Such questions are easier than what people ask.

    \b
    Privacy: labels quote documents, and pools.jsonl holds what was shown.
      - Without --as only documents that everybody may read are shown, quoted and sent to the model.
      - With --as USER, also those that this user may read; the set is then marked `restricted = true`.

    \b
    Examples:
      rag-pipeline evalset new ./questions --collection handbook
      rag-pipeline evalset new ./questions --questions questions.txt --strategies bm25,vector,hybrid_rerank
      rag-pipeline evalset new ./questions --synthetic 50
    """
    from rag_pipeline.cli.evalset_pool import judge_pools
    from rag_pipeline.cli.evalset_synthetic import ask_model
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.evaluation.check import check_eval_set
    from rag_pipeline.evaluation.labels import QUERIES
    from rag_pipeline.evaluation.stored_corpus import stored_corpus
    from rag_pipeline.paths import Home
    from rag_pipeline.retrieval.reader import open_current

    if synthetic is not None and (questions is not None or strategies is not None):
        raise click.UsageError("--synthetic writes its own questions; leave --questions and --strategies out")
    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    opened = open_current(paths)
    principal = principal_of(identity, groups)

    def say(text: str) -> None:
        click.echo(text, err=as_json)

    if synthetic is not None:
        report = ask_model(folder, opened, count=synthetic, seed=seed, principal=principal, say=say)
    else:
        report = judge_pools(
            folder,
            opened,
            questions=questions,
            strategies=_strategies(opened, strategies),
            depth=depth,
            seed=seed,
            principal=principal,
            models=Home(settings.home).models,
            say=say,
            prompt=partial(click.echo, nl=False, err=as_json),
        )
    problems = check_eval_set(folder, corpus=stored_corpus(opened.index)) if (folder / QUERIES).is_file() else ()
    errors = [p for p in problems if p.severity == "error"]
    report |= {"folder": folder, "errors": [str(p) for p in errors]}
    if as_json:
        print_json(report)
    for problem in errors:
        say(f"error: {problem}")
    if report["restricted"]:
        say(RESTRICTED_SET)
    if report["added"]:
        say(f"Use it: eval_set = {str(folder)!r} in the collection's settings; check it: rag-pipeline evalset check")
    return InvalidEvalSet.exit_code if errors else 0


def _strategies(opened: "OpenRelease", given: str | None) -> tuple[str, ...]:
    from rag_pipeline.evaluation.pooling import STRATEGIES
    from rag_pipeline.settings.base import pick

    if given is None:
        known = tuple(name for name in STRATEGIES if name in opened.release.strategies)
        return known or (opened.release.default_strategy,)
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    for name in names:
        pick(opened.release.strategies, name, "strategy")
    return names
