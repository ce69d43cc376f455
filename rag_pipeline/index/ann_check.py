"""How much of the exact nearest neighbours each approximate search of a build finds, and whether it is used at all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.checks import CheckResult
from rag_pipeline.index.open import Index

NEIGHBOURS = 10
QUERIES = 100
REQUIRED = 0.99
TIE = 1e-6
SEED = 0
NOISE = (0.1, 0.8)
"""Lengths of what is added to a chunk's vector, in turns: a query that copies its answer, and one that asks for it."""

Query = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    find: Callable[[Query, int], list[int]]
    """Rows of about the given number of nearest chunks."""
    advice: str


def ann_recall(index: Index, *, queries: int = QUERIES, required: float = REQUIRED) -> CheckResult:
    """recall@10 of inverted lists and of HNSW, where the build has them, against exact search.

    A row that is as near as the tenth exact one counts as found: among equal vectors any ten are right.
    """
    methods = list(_methods(index))
    if not methods:
        message = "the build has neither inverted lists nor HNSW; every search is exact"
        return CheckResult(True, message, {"recall": 1.0, "queries": 0})
    if not index.chunks:
        return CheckResult(True, "the build is empty", {"recall": 1.0, "queries": 0})
    probes = _probes(index, queries)
    if index.has_hnsw and "HNSW_INDEX_SCAN" not in index.nearest_plan(probes[0], limit=NEIGHBOURS):
        return CheckResult(
            False, "DuckDB's plan does not use the HNSW index; compare duckdb's version with the pinned one"
        )
    wanted = min(NEIGHBOURS, index.chunks)
    found = _found(index, probes, methods, wanted)
    numbers = {"recall": round(min(found.values()), 4), "queries": len(probes), "required": required}
    said = " and ".join(f"{name} find{'s' if name == 'HNSW' else ''} {recall:.3f}" for name, recall in found.items())
    poor = [method.advice for method in methods if found[method.name] < required]
    if poor:
        return CheckResult(False, f"{said} of the exact nearest {wanted}; {', '.join(poor)} and build again", numbers)
    return CheckResult(True, f"{said} of the exact nearest {wanted}", numbers)


def _methods(index: Index) -> Iterator[Method]:
    if index.has_lists:

        def by_lists(query: Query, limit: int) -> list[int]:
            rows, cosines = index.vectors.near(query, probes=index.vectors.probes)
            return [int(row) for row in rows[np.argsort(-cosines, kind="stable")[:limit]]]

        yield Method("lists", by_lists, "raise a strategy's probes, or index.lists")
    if index.has_hnsw:
        yield Method(
            "HNSW",
            lambda query, limit: index.nearest(query, limit=limit),
            "raise index.hnsw_ef_search or hnsw_ef_construction",
        )


def _found(index: Index, probes: Query, methods: list[Method], wanted: int) -> dict[str, float]:
    counts = dict.fromkeys((method.name for method in methods), 0)
    for probe in probes:
        cosines = index.vectors @ probe
        tenth = np.partition(cosines, len(cosines) - wanted)[len(cosines) - wanted]
        for method in methods:
            rows = set(method.find(probe, wanted))
            counts[method.name] += sum(1 for row in rows if cosines[row] >= tenth - TIE)
    return {name: count / (wanted * len(probes)) for name, count in counts.items()}


def _probes(index: Index, count: int) -> Query:
    random = np.random.default_rng(SEED)
    rows = np.sort(random.choice(index.chunks, size=min(count, index.chunks), replace=False))
    lengths = np.array([NOISE[n % len(NOISE)] for n in range(len(rows))])[:, None]
    noise = random.normal(size=(len(rows), index.dimension)) * lengths / np.sqrt(index.dimension)
    probes = np.asarray(index.vectors[rows] + noise, np.float32)
    return np.asarray(probes / np.linalg.norm(probes, axis=1, keepdims=True), np.float32)
