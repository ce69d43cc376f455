"""Run a collection's re-index job in this process; the command line's way into Dagster."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dagster as dg

from rag_pipeline.defs.automation import job_name
from rag_pipeline.defs.collection import LOCK_WAIT_SECONDS
from rag_pipeline.defs.graph import all_definitions
from rag_pipeline.defs.preflight import check_collection
from rag_pipeline.defs.progress import listening
from rag_pipeline.errors import RagPipelineError, ReleaseRefused, StorageUnavailable
from rag_pipeline.paths import Home
from rag_pipeline.release.lock import build_lock
from rag_pipeline.schema import Progress
from rag_pipeline.settings.load import Settings

KINDS: Mapping[str, type[RagPipelineError]] = {kind.__name__: kind for kind in RagPipelineError.__subclasses__()}
QUIET: Mapping[str, Any] = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """What a re-index did; the object that `rag-pipeline reindex --json` prints."""

    collection: str
    release: str
    previous: str | None
    changed: bool
    build_key: str
    build_reused: bool
    documents: int
    chunks: int
    embedded: int
    reused: int
    seconds: float
    ledger: Mapping[str, int]
    """Inputs by outcome: indexed, filtered, skipped, failed."""
    ledger_rules: Mapping[str, int]
    """Inputs by "outcome:rule"."""
    not_indexed: list[dict[str, Any]]
    """Inputs that failed or were skipped (input, outcome, rule, detail), the first hundred."""
    rejected: Mapping[str, int]
    """Pieces of documents that the chunker rejected, by rule."""
    changes: Mapping[str, int]
    """Documents added, changed, moved and deleted since the last snapshot."""
    verdict: Mapping[str, Any]
    """What let it in: decision, reason, baseline and eval set hash, and one row for each strategy and reference that
    were compared ("comparisons": n, changed, before, after, difference, low, high, finding, smallest detectable loss).
    """


def reindex(
    settings: Settings,
    collection: str,
    *,
    progress: Callable[[Progress], None] | None = None,
    verbose: bool = False,
) -> ReindexReport:
    """Read, chunk, embed, build, verify and publish one collection.

    Raises the error a stage raised, and ReleaseRefused when a blocking check failed. What is served does not change
    unless the whole run succeeds.
    """
    check_collection(settings, collection)
    # One collection's definitions: a slip in another's settings must not stop this one.
    alone = settings.model_copy(update={"collections": {collection: settings.collection(collection)}})
    job = all_definitions(alone).resolve_job_def(job_name(collection))
    paths = Home(settings.home).collection(collection)
    started = time.perf_counter()
    # The lock is taken here too, where waiting for it can be said, and held until the report is made.
    with listening(progress), _storage(), build_lock(paths, wait_seconds=LOCK_WAIT_SECONDS), _instance() as instance:
        result = job.execute_in_process(
            instance=instance, run_config=None if verbose else dict(QUIET), raise_on_error=False
        )
    if not result.success:
        raise _failure(result, collection)
    return _report(result, collection, time.perf_counter() - started)


@contextmanager
def _storage() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageUnavailable.of(error) from error


@contextmanager
def _instance() -> Iterator[dg.DagsterInstance]:
    """The configured Dagster instance, so that runs show in the UI; without DAGSTER_HOME a throw-away one."""
    if os.environ.get("DAGSTER_HOME"):
        with dg.DagsterInstance.get() as instance:
            yield instance
    else:
        with tempfile.TemporaryDirectory(prefix="dagster-") as folder, dg.DagsterInstance.ephemeral(folder) as instance:
            yield instance


def _failure(result: dg.ExecuteInProcessResult, collection: str) -> RagPipelineError:
    """The first failed blocking check, else the error of the first failed step, as an error of ours."""
    failed = [e for e in result.get_asset_check_evaluations() if not e.passed and e.blocking]
    if failed:
        check = failed[0]
        return ReleaseRefused(
            f"{collection}: check {check.check_name!r} failed: {check.description} (what is served did not change)"
        )
    for event in result.all_events:
        if event.is_step_failure and "Interrupted" in str(event.step_failure_data.error):
            raise KeyboardInterrupt
        if event.is_step_failure:
            return _original(event.step_failure_data.error, event.step_failure_data.user_failure_data)
    return RagPipelineError(f"{collection}: the run failed without naming a step; run it again with --verbose")


def _original(error: Any, user_failure: Any) -> RagPipelineError:
    message = user_failure.description if user_failure and user_failure.description else None
    cause = deepest = error
    while cause is not None:
        deepest = cause
        kind = KINDS.get(cause.cls_name or "")
        if kind is not None:
            # Dagster keeps an error as text; the class is found again by its name, past constructors of their own.
            found = kind.__new__(kind)
            found.args = (message or cause.message.partition(": ")[2].strip(),)
            return found
        cause = cause.cause
    told = deepest.message.strip() if deepest else "a step failed"
    return RagPipelineError(f"{message or told} (not an expected fault: run it again with --verbose to see where)")


def _report(result: dg.ExecuteInProcessResult, collection: str, seconds: float) -> ReindexReport:
    found: dict[str, Any] = {
        event.asset_key.path[-1]: event.step_materialization_data.materialization.metadata
        for event in result.get_asset_materialization_events()
        if event.asset_key is not None
    }

    def value(asset: str, key: str) -> Any:
        return found[asset][key].value

    documents = found["documents"]
    previous = value("published_release", "previous")
    return ReindexReport(
        collection=collection,
        release=value("published_release", "release"),
        previous=None if previous == "none" else previous,
        changed=value("published_release", "changed"),
        build_key=value("candidate_index", "build_key"),
        build_reused=value("candidate_index", "reused"),
        documents=value("chunks", "documents"),
        chunks=value("candidate_index", "chunks"),
        embedded=value("chunk_embeddings", "embedded"),
        reused=value("chunk_embeddings", "reused"),
        seconds=round(seconds, 2),
        ledger={k.removeprefix("inputs_"): v.value for k, v in documents.items() if k.startswith("inputs_")},
        ledger_rules=_counts(documents["ledger"]),
        not_indexed=_rows(documents["not_indexed"]),
        rejected=_counts(found["chunks"]["rejected"]),
        changes={k: documents[k].value for k in ("added", "changed", "moved", "deleted")},
        verdict={
            **{key: value("gate_verdict", key) for key in ("decision", "reason", "baseline", "eval_set_hash")},
            "comparisons": _rows(found["gate_verdict"]["comparisons"]),
        },
    )


def _counts(metadata: Any) -> dict[str, int]:
    return {str(next(iter(row.values()))): int(row["count"]) for row in _rows(metadata)}


def _rows(metadata: Any) -> list[dict[str, Any]]:
    if not isinstance(metadata, dg.TableMetadataValue):
        return []
    return [dict(record.data) for record in metadata.records]
