"""Hybrid retrieval under a filter or an access list, by the share of chunks that pass: exact, and how long.

    python -m benchmarks.filtered --chunks 200000 [--folder /tmp/scale]

Takes the index that `benchmarks.scale` built in the same folder. Documents have one of a thousand categories, so a
filter on some of them lets any share through. "new" makes the mask in every call (the SQL of a filter that nobody used
before), "known" takes it from the cache. The vector leg is compared with a plain search over the passing vectors; exits
with 1 where one differs.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.peers import LIMIT, Ours
from benchmarks.synthetic import corpus
from rag_pipeline.retrieval import scope as scopes
from rag_pipeline.retrieval.clock import Clock
from rag_pipeline.retrieval.dense import nearest
from rag_pipeline.retrieval.hits import make_hits
from rag_pipeline.retrieval.rank import comparable, top
from rag_pipeline.retrieval.search import search_for
from rag_pipeline.retrieval.searches import Search, Searches

CATEGORIES = 1000
PASSING = (1, 10, 50, 100, 250, 500, 900, 1000)
"""Categories let through, of a thousand."""
ROUNDS = 5
CHECKED = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/scale"))
    parser.add_argument("--queries", type=int, default=100)
    arguments = parser.parse_args()
    data = corpus(arguments.folder / "corpora", chunks=arguments.chunks)
    ours = Ours(data, arguments.folder / "indexes" / f"rag_pipeline_without_HNSW-{arguments.chunks}")
    index, wrong = ours.index, 0
    asked = 0

    def ask(number: int, filters: dict[str, list[str]]) -> float:
        started = time.perf_counter()
        mask = scopes.scope(index, filters=filters, principal=None)
        vector, text = data.query_vectors[number], data.query_texts[number]
        found = search_for(
            Searches((Search(text, vector, lexical=True, weight=1.0),), (), {}, {}),
            text,
            opened=ours.opened,
            mask=mask,
            strategy=ours.strategy,
            models=Path(),
            clock=Clock(),
        )
        make_hits(index, found.ranking, found.candidates)
        return (time.perf_counter() - started) * 1000

    print(f"{arguments.chunks} chunks, {ours.settings}\n")
    print("| share that passes | mask | median ms | p95 ms | vector leg exact |\n|---|---|---|---|---|")
    for passing in PASSING:
        filters = category(passing)
        mask = scopes.scope(index, filters=filters, principal=None)
        assert mask is not None
        rows = np.flatnonzero(mask)
        different = 0
        for vector in data.query_vectors[:CHECKED]:
            plain = top(comparable(np.vecdot(index.vectors[rows], vector)), rows, LIMIT)
            found, _ = nearest(index, vector, mask=mask, limit=LIMIT, search="auto", exact_limit=0)
            different += plain.tolist() != found.tolist()
        wrong += different
        for known in (True, False):
            medians, tails = [], []
            for _ in range(ROUNDS):
                taken = []
                for number in range(arguments.queries):
                    asked += 1
                    taken.append(ask(number, filters if known else category(passing, f"nobody has {asked}")))
                medians.append(np.median(taken))
                tails.append(np.percentile(taken, 95))
            made, times = "known" if known else "new", f"{np.median(medians):.2f} | {np.median(tails):.2f}"
            print(f"| {mask.mean():.3%} | {made} | {times} | {CHECKED - different} of {CHECKED} |", flush=True)
    sys.exit(1 if wrong else 0)


def category(passing: int, *more: str) -> dict[str, list[str]]:
    return {"category": [*(f"c{n}" for n in range(passing)), *more]}


if __name__ == "__main__":
    main()
