"""Approximate search among near neighbours: what is lost, what the knob costs, and what it means for larger corpora.

    python -m benchmarks.near_neighbours [--chunks 20000,200000,1000000] [--like vectors.npy] [--hnsw]

Every base has near copies (19 by default, cosine about 0.94), as a corpus of similar pages has; the right ten of them
are easily pushed out by an approximate search. With few copies (`--copies 3`) most of the ten are strangers that are
hardly nearer than the rest, which is harder. Bases have a spectrum that falls as real embeddings' does, or are the
rows of a build's vectors.npy (`--like`). Queries are made from rows that are not looked at when the lists choose how
many of them to read. Exact search is the truth. `--hnsw` adds usearch's HNSW, which DuckDB's vss is made of, at two
settings.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.lists import make_lists, probes_needed
from rag_pipeline.index.vectors import Vectors
from rag_pipeline.retrieval.rank import comparable, nearly_top, top

DIMENSION = 384
COPY_SPREAD = 0.36
"""Length of the noise that makes a near copy of a base."""
QUERY_SPREAD = 0.8
SPECTRUM = 0.5
"""Standard deviation of direction i is i to the minus this; real sentence embeddings fall about so."""
LIMIT = 10
QUERIES = 100
ROUNDS = 5
PROBES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
HNSW_EF = (64, 256)
Floats = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", default="20000,200000,1000000")
    parser.add_argument("--like", type=Path, help="vectors.npy (n, dimension) whose rows are the bases")
    parser.add_argument("--copies", type=int, default=20, help="vectors made of one base")
    parser.add_argument("--hnsw", action="store_true")
    arguments = parser.parse_args()
    bases = None if arguments.like is None else np.asarray(np.load(arguments.like, mmap_mode="r"))
    print(
        f"near copies of {'a made-up spectrum' if bases is None else f'{len(bases)} real vectors'}, {LIMIT} nearest\n"
    )
    print("| chunks | search | setting | made in s | median ms | p95 ms | recall@10 |")
    print("|---|---|---|---|---|---|---|")
    read: list[tuple[int, float]] = []
    for chunks in (int(n) for n in arguments.chunks.split(",")):
        read.append(measured(chunks, bases, copies=arguments.copies, hnsw=arguments.hnsw))
    if len(read) > 1:
        fitted(read)


def measured(chunks: int, bases: Floats | None, *, copies: int, hnsw: bool) -> tuple[int, float]:
    """(chunks, milliseconds of a search as it is chosen by itself)."""
    vectors, queries = made(chunks, bases, copies=copies)
    truth = [exact(vectors, query) for query in queries]

    def row(search: str, setting: str, seconds: float, ask: Callable[[Floats], Sequence[int]]) -> float:
        held = [len(set(best.tolist()).intersection(ask(q))) for best, q in zip(truth, queries, strict=True)]
        found = np.mean(held) / LIMIT
        median, tail = timed(ask, queries)
        print(
            f"| {chunks} | {search} | {setting} | {seconds:.1f} | {median:.2f} | {tail:.2f} | {found:.3f} |", flush=True
        )
        return median

    row("exact", "", 0.0, lambda query: exact(vectors, query).tolist())
    started = time.perf_counter()
    lists = make_lists(vectors)
    chosen = probes_needed(vectors, lists)
    seconds = time.perf_counter() - started
    grouped = Vectors(np.ascontiguousarray(vectors[lists.rows]), lists, chosen)
    for probes in (p for p in PROBES if p < len(lists.centroids)):
        row("lists", f"{probes} of {len(lists.centroids)}", seconds, lambda q, p=probes: near(grouped, q, p))
    usual = row(
        "lists", f"{chosen} of {len(lists.centroids)}, chosen by itself", seconds, lambda q: near(grouped, q, chosen)
    )
    if hnsw:
        for setting, seconds, ask in graphs(vectors):
            row("HNSW", setting, seconds, ask)
    return chunks, usual


def made(chunks: int, bases: Floats | None, *, copies: int) -> tuple[Floats, Floats]:
    """(vectors (chunks, dimension), queries), of unit length; the same for the same arguments."""
    random = np.random.default_rng(0)
    families = -(-chunks // copies)
    vectors = np.empty((chunks, DIMENSION if bases is None else bases.shape[1]), np.float32)
    for first in range(0, families, 5_000):
        count = min(5_000, families - first)
        if bases is None:
            base = random.standard_normal((count, DIMENSION), dtype=np.float32)
            base *= np.arange(1, DIMENSION + 1, dtype=np.float32) ** -SPECTRUM
        else:
            base = bases[random.integers(0, len(bases), count)]
        block = noisy(random, np.repeat(unit(base), copies, axis=0), COPY_SPREAD)
        place = first * copies
        vectors[place : place + len(block)] = block[: chunks - place]
    rows = random.choice(chunks, QUERIES, replace=False)
    return vectors, noisy(random, vectors[rows], QUERY_SPREAD)


def noisy(random: np.random.Generator, vectors: Floats, spread: float) -> Floats:
    noise = random.standard_normal(vectors.shape, dtype=np.float32)
    return unit(vectors + noise * np.float32(spread / np.sqrt(vectors.shape[1])))


def unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def exact(vectors: Floats, query: Floats) -> NDArray[np.int64]:
    raw = np.vecdot(vectors, query)
    rows = nearly_top(raw, LIMIT)
    return top(comparable(raw[rows]), rows, LIMIT)


def near(vectors: Vectors, query: Floats, probes: int) -> Sequence[int]:
    rows, scores = vectors.near(query, probes=probes, least=LIMIT)
    return top(comparable(scores), rows, LIMIT).tolist()


def graphs(vectors: Floats) -> Iterator[tuple[str, float, Callable[[Floats], Sequence[int]]]]:
    from usearch.index import Index

    started = time.perf_counter()
    index = Index(ndim=vectors.shape[1], metric="cos", dtype="f32")
    index.add(np.arange(len(vectors)), vectors)
    seconds = time.perf_counter() - started
    for ef in HNSW_EF:
        index.expansion_search = ef

        def ask(query: Floats) -> Sequence[int]:
            return index.search(query, LIMIT).keys.tolist()

        yield f"usearch {version('usearch')}, ef {ef}", seconds, ask


def timed(ask: Callable[[Floats], Sequence[int]], queries: Floats) -> tuple[float, float]:
    """(median, 95th percentile) in milliseconds: medians of the rounds, the first of which warms up."""
    medians, tails = [], []
    for number in range(ROUNDS + 1):
        taken = []
        for query in queries:
            started = time.perf_counter()
            ask(query)
            taken.append((time.perf_counter() - started) * 1000)
        if number:
            medians.append(np.median(taken))
            tails.append(np.percentile(taken, 95))
    return float(np.median(medians)), float(np.median(tails))


def fitted(read: Sequence[tuple[int, float]]) -> None:
    """A power law through the measured sizes, drawn out to sizes that were not measured."""
    sizes, times = np.log([n for n, _ in read]), np.log([ms for _, ms in read])
    slope, start = np.polyfit(sizes, times, 1)
    print(f"\nfitted: milliseconds grow with the number of chunks to the {slope:.2f}; not measured, by the fit:\n")
    print("| chunks | ms |\n|---|---|")
    for chunks in (2_000_000, 10_000_000):
        print(f"| {chunks} | {np.exp(start + slope * np.log(chunks)):.1f} |")


if __name__ == "__main__":
    main()
