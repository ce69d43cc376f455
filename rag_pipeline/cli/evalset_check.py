"""`rag-pipeline evalset check`: are the questions and labels of an eval set usable, and do they fit the corpus."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rag_pipeline.cli.context import collection_name, settings_for
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option
from rag_pipeline.errors import InvalidEvalSet, NoRelease, UnknownName

if TYPE_CHECKING:
    from rag_pipeline.evaluation.resolve import Corpus
    from rag_pipeline.settings.load import Settings


@click.command("check")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--split", default="test", show_default=True, help="Which qrels file of a BEIR folder.")
@collection_option
@home_option
@config_option
@json_option
def command(
    folder: Path | None, split: str, collection: str | None, home: Path | None, config: Path | None, as_json: bool
) -> int:
    """Print what is wrong, by file and line; exits 15 if anything is an error. Default: the collection's own set.

    Labels are resolved against the release in service of --collection, or of the collection that names the folder in
    its settings; without either, or before that collection's first release, only what the files say of themselves is
    checked.

    \b
    Examples:
      rag-pipeline evalset check
      rag-pipeline evalset check ./questions --collection handbook
    """
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.evaluation.check import check_eval_set

    settings = settings_for(config, home)
    chosen = folder or _own(settings, collection_name(settings, collection))
    name = collection or _collection_of(settings, chosen)
    try:
        corpus = _corpus(settings, name) if name is not None else None
    except (NoRelease, UnknownName):
        if collection is not None:
            raise
        corpus = None
    problems = check_eval_set(chosen, corpus=corpus, split=split)
    errors = sum(p.severity == "error" for p in problems)
    if as_json:
        print_json({"folder": chosen, "collection": name, "errors": errors, "problems": problems})
    else:
        for problem in problems:
            click.echo(f"{problem.severity}: {problem}")
        why = f"{name} has no release yet" if name is not None else "name a --collection"
        against = f"collection {name}" if corpus is not None else f"no corpus ({why})"
        click.echo(f"{chosen}: {errors} errors, {len(problems) - errors} notices; checked against {against}")
    return InvalidEvalSet.exit_code if errors else 0


def _own(settings: "Settings", name: str) -> Path:
    own = settings.collection(name)
    if own.eval_set is None:
        raise InvalidEvalSet(f"collection {name!r} has no eval_set; name a folder, or set one in its settings")
    return Path(own.eval_set)


def _collection_of(settings: "Settings", folder: Path) -> str | None:
    """The collection whose settings name this folder."""
    for name, own in settings.collections.items():
        if own.eval_set is not None and Path(own.eval_set).resolve() == folder.resolve():
            return name
    return None


def _corpus(settings: "Settings", name: str) -> "Corpus":
    from rag_pipeline.evaluation.stored_corpus import stored_corpus
    from rag_pipeline.paths import Home
    from rag_pipeline.retrieval.reader import existing_collection, open_current

    opened = open_current(existing_collection(Home(settings.home), name))
    return stored_corpus(opened.index)
