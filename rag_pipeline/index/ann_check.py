"""How much of the exact nearest neighbours HNSW finds, and whether DuckDB's plan uses it at all."""

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.checks import CheckResult
from rag_pipeline.index.open import Index

NEIGHBOURS = 10
QUERIES = 100
REQUIRED = 0.99
TIE = 1e-6
SEED = 0


def ann_recall(index: Index, *, queries: int = QUERIES, required: float = REQUIRED) -> CheckResult:
    """recall@10 of HNSW against exact search, for chunks' own vectors with a little noise, as a query would have.

    A row that is as near as the tenth exact one counts as found: among equal vectors any ten are right.
    """
    if not index.has_hnsw:
        return CheckResult(True, "the build has no HNSW index; every search is exact", {"recall": 1.0, "queries": 0})
    if not index.chunks:
        return CheckResult(True, "the build is empty", {"recall": 1.0, "queries": 0})
    probes = _probes(index, queries)
    if "HNSW_INDEX_SCAN" not in index.nearest_plan(probes[0], limit=NEIGHBOURS):
        return CheckResult(
            False, "DuckDB's plan does not use the HNSW index; compare duckdb's version with the pinned one"
        )
    wanted = min(NEIGHBOURS, index.chunks)
    found = 0
    for probe in probes:
        cosines = index.vectors @ probe
        tenth = np.partition(cosines, len(cosines) - wanted)[len(cosines) - wanted]
        rows = set(index.nearest(probe, limit=wanted))
        found += sum(1 for row in rows if cosines[row] >= tenth - TIE)
    recall = found / (wanted * len(probes))
    numbers = {"recall": round(recall, 4), "queries": len(probes), "required": required}
    if recall < required:
        advice = "raise index.hnsw_ef_search or hnsw_ef_construction and build again"
        return CheckResult(False, f"HNSW finds {recall:.3f} of the exact nearest {wanted}; {advice}", numbers)
    return CheckResult(True, f"HNSW finds {recall:.3f} of the exact nearest {wanted}, and the plan uses it", numbers)


def _probes(index: Index, count: int) -> NDArray[np.float32]:
    random = np.random.default_rng(SEED)
    rows = np.sort(random.choice(index.chunks, size=min(count, index.chunks), replace=False))
    noise = random.normal(size=(len(rows), index.dimension)) * 0.1 / np.sqrt(index.dimension)
    probes = np.asarray(index.vectors[rows] + noise, np.float32)
    return np.asarray(probes / np.linalg.norm(probes, axis=1, keepdims=True), np.float32)
