"""`rag-pipeline diff`: two releases on the same questions, and which questions each one loses."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import (
    collection_option,
    config_option,
    home_option,
    html_option,
    json_option,
    not_empty,
)

if TYPE_CHECKING:
    from rag_pipeline.evaluation.side_by_side import WorseQuestion


@click.command("diff", short_help="Compare two releases question by question.")
@click.argument("before")
@click.argument("after")
@click.option("--strategy", callback=not_empty, help="Strategy of both releases. [default: the default one of each]")
@click.option("--eval-set", type=click.Path(path_type=Path, file_okay=False), help="Questions. [default: its own]")
@click.option("--show", type=click.IntRange(0), default=5, show_default=True, help="Questions of each kind to print.")
@html_option
@collection_option
@home_option
@config_option
@json_option
def command(
    before: str,
    after: str,
    strategy: str | None,
    eval_set: Path | None,
    show: int,
    html: Path | None,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """What changed from release BEFORE to release AFTER: overall, by tag, and the greatest losses and gains.

    \b
    Example:
      rag-pipeline release list
      rag-pipeline diff 1e5359d93d685a99157d 0f256b311a9e2b546e40
    """
    from rag_pipeline.cli.output import print_json, print_table
    from rag_pipeline.cli.progress import shown
    from rag_pipeline.evaluation.gate_rows import effect_cells
    from rag_pipeline.evaluation.measure import measure_release
    from rag_pipeline.evaluation.questions import questions_for
    from rag_pipeline.evaluation.release_diff import diff_releases, renamed
    from rag_pipeline.evaluation.unscored import unscored
    from rag_pipeline.paths import Home
    from rag_pipeline.release.stored import check_known
    from rag_pipeline.settings.collection import CollectionSettings

    if before == after:
        raise click.UsageError(f"{before} twice; name two releases (`rag-pipeline release list`)")
    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    own = settings.collections.get(paths.root.name, CollectionSettings())
    if eval_set is not None:
        own = own.model_copy(update={"eval_set": str(eval_set)})
    for release_id in (before, after):
        check_known(paths, release_id)
    questions = questions_for(paths, before, own)
    with shown(quiet=as_json) as progress:
        old, new = (
            measure_release(
                paths,
                release_id,
                questions.eval_set,
                models=Home(settings.home).models,
                strategies=(strategy,) if strategy else None,
                progress=progress,
            )
            for release_id in (before, after)
        )
    left_out = unscored((old, new))
    found = diff_releases(old, new, settings=own.gate)
    if html is not None:
        from rag_pipeline.durable import write_private
        from rag_pipeline.evaluation.report.page import html_report

        name = " / ".join(dict.fromkeys((*old.runs, *new.runs)))
        pair = [renamed(experiment, name) for experiment in (old, new)]
        title = f"Release {after} against {before}"
        write_private(html, html_report(pair, reference=name, settings=own.gate, title=title, notes=left_out))
    if as_json:
        print_json(found)
        return
    comparison = found.comparison
    rows = [{"questions": "all", **effect_cells(comparison.overall)}]
    rows += [{"questions": tag, **effect_cells(effect)} for tag, effect in comparison.by_tag.items()]
    print_table(f"{comparison.metric} on {old.eval_set}: {before} -> {after}", rows)
    for title, changed in (("greatest losses", found.lost), ("greatest gains", found.won)):
        if changed[:show]:
            print_table(f"{title} ({len(changed)})", [_cells(q) for q in changed[:show]])
    for line in left_out:
        click.echo(line)
    overall = comparison.overall
    found_out = overall.finding if overall.changed else f"{comparison.metric} is the same for every question"
    click.echo(
        f"{found_out}: {overall.n} questions find a loss of {overall.detectable:.3f} four times in five; "
        f"the margin is {own.gate.margin:g}"
    )
    if html is not None:
        click.echo(f"the report is in {html} (readable by you alone: it quotes questions of whoever asked)")


def _cells(question: "WorseQuestion") -> dict[str, Any]:
    return {
        "question": question.text,
        "before": question.before,
        "after": question.after,
        "ranking before": "\n".join(question.ranking_before[:3]),
        "ranking after": "\n".join(question.ranking_after[:3]),
    }
