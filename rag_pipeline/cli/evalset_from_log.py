"""`rag-pipeline evalset from-log`: recorded questions become an eval set, and candidates for judging."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_pipeline.cli.context import served_collection, settings_for
from rag_pipeline.cli.evalset_folder import EvalSetFolder
from rag_pipeline.cli.options import (
    RESTRICTED_SET,
    collection_option,
    config_option,
    home_option,
    json_option,
    principal_of,
    principal_options,
)
from rag_pipeline.errors import InvalidSettings

if TYPE_CHECKING:
    from rag_pipeline.evaluation.from_log import RecordedQuestion

CANDIDATES = "candidates.jsonl"
COUNTS = "asked.jsonl"


@click.command("from-log", short_help="Make a set from questions that a server recorded.")
@click.argument("folder", type=EvalSetFolder())
@click.option("--rated", is_flag=True, help="Only questions that somebody rated. [default: all]")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only what was asked on this day (UTC) or later.")
@principal_options("Ask as this user; without it, only public documents are quoted.")
@collection_option
@home_option
@config_option
@json_option
def command(
    folder: Path,
    rated: bool,
    since: datetime | None,
    identity: str | None,
    groups: tuple[str, ...],
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Add the recorded questions of one collection to the eval set in FOLDER.

    The same question, whatever its case, spacing and closing mark, is one; its filters are kept. Where more askers
    called a result useful than not, its passage becomes a label, quoted from the document, and the question goes into
    queries.jsonl. All others go into candidates.jsonl, to be judged with `evalset new FOLDER --questions`. How often
    each was asked and rated is in asked.jsonl. What FOLDER has already stays as it is.

    \b
    Privacy: a query log is readable by its owner alone; what is made here is a copy.
      - Every question is copied as it was typed, of every user; it may hold names and secrets.
        Read candidates.jsonl and queries.jsonl before you share them.
      - A label copies text of a document. Without --as, only documents that everybody may read are quoted. With
        --as USER --group GROUP, what that user asked (known by its hash) is labelled as that user, with quotes of
        documents that this user may read; the set then names the user and is marked `restricted = true`.
      - Who asked is in the log as a keyed hash only, and is not copied.

    \b
    Examples:
      rag-pipeline evalset from-log ./questions
      rag-pipeline evalset from-log ./questions --rated --since 2026-09-01
      rag-pipeline evalset from-log ./finance-questions --as ruth --group finance
    """
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.evaluation.from_log import recorded_questions
    from rag_pipeline.evaluation.stored_texts import ReleaseTexts
    from rag_pipeline.paths import Home
    from rag_pipeline.querylog.asker import asker_key, asker_of
    from rag_pipeline.querylog.read import read_log
    from rag_pipeline.retrieval.reader import open_current
    from rag_pipeline.serving.settings import serving_settings

    settings = settings_for(config, home)
    paths = served_collection(settings, collection)
    log = Home(settings.home).query_log
    days = serving_settings(settings).query_log_days
    rows = read_log(log, days=days, collection=paths.root.name, since=since.date() if since else None)
    key = asker_key(log)
    if key is None:
        raise InvalidSettings(f"{log}: the log's key is gone, so nobody can be told from anybody; restore it")
    questions = recorded_questions(
        rows,
        stored=ReleaseTexts(paths, open_current(paths)),
        asker_of=lambda who: asker_of(who, key),
        principal=principal_of(identity, groups),
        rated_only=rated,
    )
    report = _written(folder, questions, name=paths.root.name)
    report |= {"records": len(rows.queries), "questions": len(questions), "unreadable_lines": rows.unreadable}
    if as_json:
        print_json(report)
    else:
        _print(folder, report)
    return 0


def _written(folder: Path, questions: "tuple[RecordedQuestion, ...]", *, name: str) -> dict[str, Any]:
    from collections import Counter

    from rag_pipeline.durable import write_private
    from rag_pipeline.evaluation.set_writer import add_questions, json_lines, make_folder, query_row

    make_folder(folder)
    labelled = [q for q in questions if q.labels]
    candidates = [q for q in questions if not q.labels]
    restricted = any(q.restricted for q in labelled)
    about: dict[str, str | bool] = {"name": f"{name}_from_log", "from_log": True, "restricted": restricted}
    added = add_questions(folder, [(q.query, q.labels) for q in labelled], about=about)
    write_private(folder / CANDIDATES, json_lines(query_row(q.query) for q in candidates))
    write_private(folder / COUNTS, json_lines(_counts(q) for q in questions))
    unlabelled: Counter[str] = Counter()
    for question in questions:
        unlabelled.update(question.unlabelled)
    return {
        "added": added.questions,
        "labels": added.judgements,
        "already_there": added.kept,
        "candidates": len(candidates),
        "restricted": restricted,
        "of_other_users": sum(q.asker == "other" for q in questions),
        "useful_but_not_labelled": dict(unlabelled),
    }


def _counts(question: "RecordedQuestion") -> dict[str, Any]:
    return {
        "query_id": question.query.id,
        "text": question.query.text,
        "asker": question.asker,
        "asked": question.asked,
        "useful": question.useful,
        "not_useful": question.not_useful,
        "first": question.first,
        "last": question.last,
        "labels": len(question.labels),
        "useful_but_not_labelled": dict(question.unlabelled),
    }


def _print(folder: Path, report: dict[str, Any]) -> None:
    click.echo(f"{report['records']} recorded, {report['questions']} different questions")
    click.echo(
        f"{report['added']} added with {report['labels']} labels, {report['already_there']} were there;"
        f" {report['candidates']} candidates in {folder / CANDIDATES}"
    )
    for reason, count in report["useful_but_not_labelled"].items():
        click.echo(f"{count} passages were called useful and not labelled: {reason}")
    if report["of_other_users"]:
        click.echo(
            f"{report['of_other_users']} were asked by users who are not named: their text is copied, and public"
            " documents alone are quoted; name one with --as"
        )
    if report["unreadable_lines"]:
        click.echo(f"{report['unreadable_lines']} lines of the log could not be read")
    click.echo("Questions stand here as they were typed: read them before you share this folder.")
    if report["restricted"]:
        click.echo(RESTRICTED_SET)
    if report["candidates"]:
        click.echo(f"Next: rag-pipeline evalset new {folder} --questions {folder / CANDIDATES}")
