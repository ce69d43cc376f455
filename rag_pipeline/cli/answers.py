"""`rag-pipeline answers`: how good the answers of a release, or answers recorded elsewhere, are."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option

if TYPE_CHECKING:
    from rag_pipeline.evaluation.answer_quality import AnswerQuality
    from rag_pipeline.evaluation.judges.measure import JudgeReport


@click.command("answers", short_help="Measure answers: key facts, faithfulness, abstention, cost.")
@click.option("--answerer", help="extractive or llm. [default: extractive]")
@click.option(
    "--recorded",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Judge answers made elsewhere: a JSONL file of query_id, answer, passages.",
)
@click.option("--context", help="Preset that the passages come from. [default: chatbot]")
@click.option("--eval-set", type=click.Path(path_type=Path, file_okay=False), help="Questions. [default: its own]")
@click.option("--release", "release_id", help="Release to ask. [default: the one in service]")
@click.option("--judges", "show_judges", is_flag=True, help="Also measure the judges themselves, on labelled answers.")
@collection_option
@home_option
@config_option
@json_option
def command(
    answerer: str | None,
    recorded: Path | None,
    context: str | None,
    eval_set: Path | None,
    release_id: str | None,
    show_judges: bool,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Key-fact recall, likeness to the reference, faithfulness by each judge, abstention and cost.

    Beside each judge's score stands how well that judge tells labelled sentences apart. Questions need a reference
    answer or key facts (eval_sets/README.md). Judges and answers by a language model need RAG_PIPELINE_LLM_URL.

    \b
    Examples:
      rag-pipeline answers
      rag-pipeline answers --answerer llm
      rag-pipeline answers --recorded answers.jsonl --json
    """
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.cli.progress import shown
    from rag_pipeline.errors import InvalidEvalSet
    from rag_pipeline.evaluation.answer_labels import load_answer_set
    from rag_pipeline.evaluation.answer_release import answer_quality, recorded_quality, why_not_asked
    from rag_pipeline.evaluation.judges.measure import measure_judges
    from rag_pipeline.evaluation.questions import questions_for
    from rag_pipeline.evaluation.results import plain
    from rag_pipeline.llm.client import open_llm
    from rag_pipeline.paths import Home
    from rag_pipeline.release.stored import load_release
    from rag_pipeline.release.verify import in_service
    from rag_pipeline.settings.bundled import bundled_answer_set
    from rag_pipeline.settings.collection import CollectionSettings

    if recorded is not None and (answerer or context):
        raise click.UsageError("--recorded brings its own answers; leave out --answerer and --context")
    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    release = load_release(paths, release_id or in_service(paths))
    asked = release.release_id
    models = Home(settings.home).models
    own = settings.collections.get(paths.root.name, CollectionSettings())
    own = own.model_copy(update={"eval_set": str(eval_set)}) if eval_set else own
    questions = questions_for(paths, asked, own).eval_set
    llm = open_llm()
    if why_not := why_not_asked(release, questions):
        raise InvalidEvalSet(f"{questions.name}: {why_not}; name questions that have them with --eval-set")
    if recorded is not None:
        quality = recorded_quality(paths, asked, questions, recorded, models=models, llm=llm)
    else:
        with shown(quiet=as_json) as progress:
            quality = answer_quality(
                paths,
                asked,
                questions,
                models=models,
                answerer=answerer or "extractive",
                context=context,
                llm=llm,
                progress=progress,
            )
    names = None if show_judges else [judged.judge for judged in quality.faithfulness]
    judges = None
    if names is None or names:
        judges = measure_judges(
            paths, asked, load_answer_set(bundled_answer_set()), models=models, llm=llm, names=names
        )
    if as_json:
        print_json({"answers": plain(quality), "judges": plain(judges) if judges is not None else None})
        return
    _print(quality, judges, show_judges=show_judges)


def _print(quality: "AnswerQuality", judges: "JudgeReport | None", *, show_judges: bool) -> None:
    from rag_pipeline.cli.output import print_table
    from rag_pipeline.evaluation.answer_rows import answer_rows, faithfulness_rows, judge_rows

    by = quality.answerer if quality.model is None else f"{quality.answerer} ({quality.model})"
    where = f", context {quality.context}" if quality.context else ""
    print_table(f"{quality.eval_set}: {len(quality.rows)} answers, {by}{where}", answer_rows(quality))
    if quality.faithfulness:
        print_table("Faithfulness by judge", faithfulness_rows(quality, judges))
    if show_judges and judges is not None:
        rows = judge_rows(judges)
        print_table(
            "The judges themselves, on labelled answers",
            [{k: v for k, v in row.items() if not k.endswith(" found")} for row in rows],
        )
        kinds = [{k: v for k, v in row.items() if k == "judge" or k.endswith(" found")} for row in rows]
        print_table("Faulty sentences found, by kind", kinds)
    if quality.failed:
        click.echo(f"{quality.failed} questions failed and are in no mean")
    for judge, why in {**quality.not_run, **(judges.not_run if show_judges and judges else {})}.items():
        click.echo(f"not run: {judge}: {why}")
