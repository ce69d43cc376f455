"""A cheap sign that sources changed: names, sizes and times, no contents. It starts a run; it never decides one."""

import hashlib
from pathlib import Path

from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.sources.scan import walk_all


def sources_fingerprint(collection: CollectionSettings, *, data: Path | None = None) -> str:
    """20 hex digits. Raises InvalidSource as reading them would.

    `data` is the data directory: where it lies inside a source, every run would otherwise change the sign.
    """
    digest = hashlib.sha256()
    for source in collection.sources:
        digest.update(f"source\0{source.name}\0{source.path}\n".encode("utf-8", "surrogatepass"))
        for item in walk_all(source, data=[data] if data else []):
            row = f"{item.path}\0{item.kind}\0{item.size}\0{item.stamp}\n"
            digest.update(row.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:20]
