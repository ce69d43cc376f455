"""Which stored evaluations are to be logged, and logging them one after the other."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.clock import now
from rag_pipeline.release.stored import check_known
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline.tracking.log import log_evaluation
from rag_pipeline.tracking.record import evaluations_of, read_record
from rag_pipeline.tracking.state import LoggedRun, read_state


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one evaluation."""

    release_id: str
    evaluation: str
    """Name of its folder: the first digits of the eval set's hash."""
    logged: LoggedRun | None
    """None where tracking is switched off, and for what was not tried after another could not be sent."""


def log_releases(
    settings: Settings,
    paths: CollectionPaths,
    release_ids: Iterable[str],
    *,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Outcome]:
    """Log every stored evaluation of these releases that isn't logged yet. Raises UnknownName for an unknown release.

    After the first that can't be sent no other is tried, but each is told: a server that is down costs one waiting
    time, not one for each evaluation.
    Those that were tried least lately come first, so that a single one that never succeeds holds up none for ever.
    """
    own = settings.collections.get(paths.root.name, CollectionSettings())
    folders = []
    for release_id in release_ids:
        check_known(paths, release_id)
        folders += [(_tried(folder), release_id, folder) for folder in evaluations_of(paths, release_id)]
    down = False
    for _, release_id, folder in sorted(folders):
        if down:
            yield Outcome(release_id, folder.name, None)
            continue
        try:
            record = read_record(paths, release_id, folder, settings=own.gate)
        except CorruptBuild as error:
            yield Outcome(release_id, folder.name, LoggedRun("not_sent", "", "", now(), error=str(error)))
            continue
        logged = log_evaluation(record, settings=settings, environ=environ)
        yield Outcome(release_id, folder.name, logged)
        down = logged is not None and logged.state == "not_sent"


def _tried(folder: Path) -> str:
    """When sending it failed last; "" where it never did."""
    known = read_state(folder)
    return known.at if known is not None and known.state == "not_sent" else ""
