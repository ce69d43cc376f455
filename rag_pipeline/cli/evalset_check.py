"""`rag-pipeline evalset check`: are the questions and labels of an eval set usable, and do they fit the corpus."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rag_pipeline.cli.context import collection_name, settings_for
from rag_pipeline.cli.evalset_folder import EvalSetFolder
from rag_pipeline.cli.options import collection_option, config_option, home_option, json_option, not_empty
from rag_pipeline.errors import InvalidEvalSet

if TYPE_CHECKING:
    from rag_pipeline.cli.evalset_corpus import Against
    from rag_pipeline.settings.load import Settings

SPLIT = "test"


@click.command("check")
@click.argument("folder", required=False, type=EvalSetFolder())
@click.option("--split", callback=not_empty, help=f"Which qrels file of a BEIR folder. [default: {SPLIT}]")
@click.option(
    "--release",
    "release_id",
    metavar="ID",
    callback=not_empty,
    help="Resolve labels in this stored release, one that was refused too. [default: the one in service]",
)
@collection_option
@home_option
@config_option
@json_option
def command(
    folder: Path | None,
    split: str | None,
    release_id: str | None,
    collection: str | None,
    home: Path | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Print what is wrong, by file and line; exits 15 if anything is an error. Default: the collection's own set.

    Labels are resolved in the release in service of --collection; without it, of the collection that names the folder
    in its settings, else of the default one. Where no release is in service, they are resolved in the documents as they
    were read last. A collection that was never indexed has neither: then only what the files say of themselves is
    checked, and the last line says so.

    \b
    Examples:
      rag-pipeline evalset check
      rag-pipeline evalset check ./questions --collection handbook
      rag-pipeline evalset check --release 3f9c0a1b2c3d4e5f6a7b
    """
    from rag_pipeline.cli.evalset_corpus import collection_naming, corpus_if_any, corpus_of
    from rag_pipeline.cli.output import print_json
    from rag_pipeline.evaluation.check import check_eval_set

    settings = settings_for(config, home)
    default = collection_name(settings, collection)
    chosen = folder or _own(settings, default)
    _check_split(chosen, split)
    naming = default if folder is None or collection else collection_naming(settings, chosen, first=default)
    name = naming or default
    asked_for = collection is not None or release_id is not None
    against = corpus_of(settings, name, release_id) if asked_for else corpus_if_any(settings, name)
    problems = check_eval_set(chosen, corpus=against.corpus if against is not None else None, split=split or SPLIT)
    errors = sum(p.severity == "error" for p in problems)
    if as_json:
        print_json(
            {
                "folder": chosen,
                "collection": name,
                "release": against.release if against is not None else None,
                "snapshot": against.snapshot if against is not None else None,
                "labels_resolved": against is not None,
                "errors": errors,
                "problems": problems,
            }
        )
    else:
        for problem in problems:
            click.echo(f"{problem.severity}: {problem}")
        told = _told(name, against, assumed=naming is None)
        click.echo(f"{chosen}: {errors} errors, {len(problems) - errors} notices; {told}")
    return InvalidEvalSet.exit_code if errors else 0


def _own(settings: "Settings", name: str) -> Path:
    own = settings.collection(name)
    if own.eval_set is None:
        raise InvalidEvalSet(f"collection {name!r} has no eval_set; name a folder, or set one in its settings")
    return Path(own.eval_set)


def _check_split(folder: Path, split: str | None) -> None:
    """Raises UsageError for a split of a folder that has none; a folder that is missing is told as that."""
    if split is not None and folder.is_dir() and not (folder / "qrels").is_dir():
        raise click.UsageError(f"--split chooses a file in qrels/, and {folder} has no such folder; leave --split out")


def _told(name: str, against: "Against | None", *, assumed: bool) -> str:
    if against is None:
        return (
            f"labels were not resolved, because collection {name} has nothing indexed: run"
            f" `rag-pipeline reindex -c {name}` first, or name another collection with -c"
        )
    default = " (the default; -c names another)" if assumed else ""
    return f"checked against collection {name}{default}, {against}"
