"""`rag-pipeline compare`: strategies of one release on the same questions, as a leaderboard."""

from pathlib import Path

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option

PRINTED = ("strategy", "ndcg@10", "ndcg@10 95 %", "recall@5", "recall@10", "mrr@10", "change", "change interval")
PRINTED_LAST = ("verdict", "p95 ms", "n", "failed")


@click.command("compare", short_help="Compare retrieval strategies on an eval set.")
@click.option("--strategies", metavar="A,B,...", help="The first is the reference. [default: all of the release]")
@click.option("--eval-set", type=click.Path(path_type=Path, file_okay=False), help="Questions. [default: its own]")
@click.option("--release", "release_id", help="Release to ask. [default: the one in service]")
@click.option(
    "--half",
    type=click.Choice(["tuning", "held_out", "both"]),
    default="tuning",
    show_default=True,
    help="Choose on the tuning half; report what was chosen on the held-out one.",
)
@collection_option
@home_option
@config_option
@json_option
def command(
    strategies: str | None,
    eval_set: Path | None,
    release_id: str | None,
    half: str,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """A leaderboard with intervals, and what each strategy changes against the first one.

    Without an eval set in the settings or on the command line, probes made from the corpus itself are asked.

    \b
    Examples:
      rag-pipeline compare
      rag-pipeline compare --strategies hybrid,bm25,vector --eval-set ./questions --half held_out
    """
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.cli.progress import shown
    from rag_pipeline.evaluation.leaderboard import leaderboard
    from rag_pipeline.evaluation.measure import measure_release
    from rag_pipeline.evaluation.questions import questions_for
    from rag_pipeline.evaluation.split import Half
    from rag_pipeline.paths import Home
    from rag_pipeline.release.stored import load_release
    from rag_pipeline.release.verify import in_service
    from rag_pipeline.settings.collection import CollectionSettings

    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    own = settings.collections.get(paths.root.name, CollectionSettings())
    if eval_set is not None:
        own = own.model_copy(update={"eval_set": str(eval_set)})
    release = load_release(paths, release_id or in_service(paths))
    names = tuple(strategies.split(",")) if strategies else _all(release.default_strategy, release.strategies)
    questions = questions_for(paths, release.release_id, own)
    with shown(quiet=as_json) as progress:
        measured = measure_release(
            paths,
            release.release_id,
            questions.eval_set,
            models=Home(settings.home).models,
            strategies=names,
            half=Half(half) if questions.labelled else Half.BOTH,
            progress=progress,
        )
    rows = leaderboard(measured, reference=names[0], settings=own.gate)
    about = {
        "release": release.release_id,
        "eval_set": measured.eval_set,
        "eval_set_hash": measured.eval_set_hash,
        "half": measured.half.value,
        "reference": names[0],
    }
    if as_json:
        print_json({**about, "leaderboard": rows})
        return
    title = f"{measured.eval_set} ({measured.half.value} half), release {release.release_id}, against {names[0]}"
    print_table(title, [{name: row[name] for name in (*PRINTED, *PRINTED_LAST)} for row in rows])


def _all(default: str, strategies: object) -> tuple[str, ...]:
    """The default first: it is what the others have to beat."""
    assert isinstance(strategies, dict)
    return (default, *(name for name in strategies if name != default))
