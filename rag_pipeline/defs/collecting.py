"""Removing what is no longer kept, as a part of a step that must not fail over it."""

import dagster as dg

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.retain import gc


def collect(context: dg.AssetExecutionContext, paths: CollectionPaths, *, keep: int) -> dict[str, str | int]:
    """What was removed, as metadata. With a damaged CURRENT or CHAMPION nothing is, and the run goes on: making the
    release again is what mends it. Raises BuildBusy."""
    try:
        collected = gc(paths, keep=keep)
    except CorruptBuild as error:
        context.log.warning(f"nothing was collected: {error}")
        return {"not_collected": str(error)}
    return {"releases_removed": len(collected.releases), "bytes_freed": collected.bytes_freed}
