"""Where the server meets the query log: opened where the settings want it, never failing an answer."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_pipeline.paths import Home
from rag_pipeline.querylog.log import QueryLog
from rag_pipeline.querylog.segments import prune
from rag_pipeline.schema import Principal, RetrievalResult
from rag_pipeline.serving.pool import Pool
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.settings import ServingSettings

if TYPE_CHECKING:
    from rag_pipeline.serving.service import Service

log = logging.getLogger("rag_pipeline.serving")
PRUNE_SECONDS = 3600.0


def open_query_log(home: Path, serving: ServingSettings) -> QueryLog | None:
    """None where the settings don't want one. Raises InvalidSettings, StorageUnavailable: told at the start."""
    if not serving.query_log:
        return None
    return QueryLog(Home(home).query_log, days=serving.query_log_days, most_bytes=serving.query_log_bytes)


def remember(
    service: "Service", result: RetrievalResult, *, principal: Principal | None, filters: Mapping[str, Any]
) -> str | None:
    """The id that feedback may name; None where the log is off or the record could not be written.

    A failed write is counted and told in the server's log, by reason alone; the answer goes out all the same.
    """
    if service.query_log is None:
        return None
    written = service.query_log.query(result, principal=principal, filters=filters)
    service.metrics.recorded("query", written.failure)
    if written.failure:
        log.error("query log: a question was not recorded (%s)", written.failure)
    return written.query_id


async def keep_pruned(service: "Service", pool: Pool) -> None:
    """Remove old records now and every hour, whether or not anyone asks; also those of a log that is off by now."""
    while True:
        try:
            await pool.run(_pruning(service))
        except (OSError, Problem) as error:
            log.error("query log: old records were not removed (%s)", type(error).__name__)
        await asyncio.sleep(PRUNE_SECONDS)


def _pruning(service: "Service") -> Callable[[], object]:
    if service.query_log is not None:
        return service.query_log.prune
    days, most = service.serving.query_log_days, service.serving.query_log_bytes
    return lambda: prune(service.home.query_log, today=datetime.now(UTC).date(), days=days, most_bytes=most)
