"""Hybrid, dense and lexical retrieval beside other systems, on the same vectors, texts and queries.

    python -m benchmarks.scale --chunks 200000 [--systems rag_pipeline,lancedb,...] [--folder /tmp/scale]

Each index is built in a process of its own, or taken from the folder with --keep: seconds, and their ratio to the first
system; seconds of all cores together; the most memory held at once, pages of mapped files included; the size on disk,
of which ours is also the corpus, the tables for SQL and the sidecars. The line above says how busy the machine was.
Then all systems answer the same queries in turns, several rounds; the tables give the median of the rounds' medians,
and ratios to the first system. Recall@20 is the dense leg's against exact search.
"""

import argparse
import multiprocessing
import os
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import LIMIT, PEERS, Lance, emptied
from benchmarks.synthetic import Corpus, corpus

SLOW = {"langchain": 5, "duckdb": 20}
"""Systems that take so long a query that fewer are asked; the same ones every round."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--systems", default=",".join(PEERS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/scale"))
    parser.add_argument("--keep", action="store_true", help="use indexes that were built before")
    arguments = parser.parse_args()
    data = corpus(arguments.folder / "corpora", chunks=arguments.chunks)
    names = arguments.systems.split(",")
    processor = platform.processor() or "x86-64"
    busy = f"load {os.getloadavg()[0]:.1f}"
    print(f"{arguments.chunks} chunks of 384 dimensions, {os.cpu_count()} cores, {processor}, {busy}\n")
    print("| index | version | built in s | ratio | CPU s | peak MB | on disk MB |\n|---|---|---|---|---|---|---|")
    first: Needs | None = None
    for name in names:
        place = arguments.folder / "indexes" / f"{name.replace(' ', '_').replace(',', '')}-{arguments.chunks}"
        needs = None if arguments.keep and place.exists() else built(name, data, emptied(place))
        first = first or needs
        size = sum(f.stat().st_size for f in place.rglob("*") if f.is_file()) / 1e6
        print(f"| {name} | {PEERS[name].version()} | {shown(needs, first)} | {size:.0f} |", flush=True)
    exact = exact_rows(data, arguments.queries)
    systems: dict[str, Any] = {}
    for name in names:
        place = arguments.folder / "indexes" / f"{name.replace(' ', '_').replace(',', '')}-{arguments.chunks}"
        systems[name] = PEERS[name].open(data, place)
        if name == "lancedb":
            systems["lancedb, tuned"] = tuned(place, data, exact)
    for leg in ("hybrid", "dense", "lexical"):
        table(leg, systems, data, exact, rounds=arguments.rounds, queries=arguments.queries)


@dataclass(frozen=True, slots=True)
class Needs:
    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    """Resident."""


def built(name: str, data: Corpus, place: Path) -> Needs:
    """Of a fresh process that builds the index and nothing else."""
    context = multiprocessing.get_context("spawn")
    parent, child = context.Pipe()
    process = context.Process(target=_build, args=(name, data, place, child))
    process.start()
    child.close()
    try:
        return parent.recv()
    finally:
        process.join()


def _build(name: str, data: Corpus, place: Path, pipe: Any) -> None:
    import pyarrow  # noqa: F401 - what everyone imports is not part of the time

    started, cpu = time.perf_counter(), time.process_time()
    PEERS[name].build(data, place)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send(Needs(time.perf_counter() - started, time.process_time() - cpu, peak))


def exact_rows(data: Corpus, queries: int) -> NDArray[np.int64]:
    vectors = np.load(data.vectors / "vectors.npy", mmap_mode="r")
    best = np.zeros((queries, LIMIT), np.int64)
    for number, vector in enumerate(data.query_vectors[:queries]):
        best[number] = np.argsort(-(vectors @ vector), kind="stable")[:LIMIT]
    return best


def recall(leg: Callable[[NDArray[np.float32]], Any], data: Corpus, exact: NDArray[np.int64]) -> float:
    found = [
        len(set(exact[n].tolist()).intersection(leg(v))) / LIMIT for n, v in enumerate(data.query_vectors[: len(exact)])
    ]
    return float(np.mean(found))


def tuned(place: Path, data: Corpus, exact: NDArray[np.int64]) -> Lance:
    """LanceDB at the cheapest of some settings that reaches recall@20 of 0.99, or the most exact one."""
    for ef, nprobes, refine in ((64, 20, 2), (128, 40, 3), (256, 80, 5), (512, 200, 10)):
        system = Lance(place, ef=ef, nprobes=nprobes, refine=refine)
        if recall(system.dense, data, exact[:50]) >= 0.99:
            break
    return system


def table(
    leg: str, systems: dict[str, Any], data: Corpus, exact: NDArray[np.int64], *, rounds: int, queries: int
) -> None:
    having = {name: getattr(system, leg) for name, system in systems.items() if hasattr(system, leg)}
    medians: dict[str, list[float]] = {name: [] for name in having}
    tails: dict[str, list[float]] = {name: [] for name in having}
    for round_number in range(rounds + 1):
        for name, ask in having.items():
            taken = []
            for n in range(SLOW.get(name, queries)):
                vector, text = data.query_vectors[n], data.query_texts[n]
                given = (vector, text) if leg == "hybrid" else (vector,) if leg == "dense" else (text,)
                started = time.perf_counter()
                ask(*given)
                taken.append((time.perf_counter() - started) * 1000)
            if round_number:  # the first one warms up
                medians[name].append(float(np.median(taken)))
                tails[name].append(float(np.percentile(taken, 95)))
    print(f"\n{leg}\n\n| system | settings | median ms | p95 ms | ratio | recall@20 |\n|---|---|---|---|---|---|")
    first = float(np.median(next(iter(medians.values()))))
    for name in having:
        median, tail = float(np.median(medians[name])), float(np.median(tails[name]))
        found = f"{recall(having[name], data, exact):.3f}" if leg == "dense" else ""
        print(
            f"| {name} | {systems[name].settings} | {median:.2f} | {tail:.2f} | {median / first:.2f} | {found} |",
            flush=True,
        )


def shown(needs: Needs | None, first: Needs | None) -> str:
    if needs is None or first is None:
        return "kept | | |"
    ratio = needs.seconds / first.seconds
    return f"{needs.seconds:.1f} | {ratio:.2f} | {needs.cpu_seconds:.1f} | {needs.peak_megabytes:.0f}"


if __name__ == "__main__":
    main()
