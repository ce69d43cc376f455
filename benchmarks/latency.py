"""How long a query takes: warm in one process, and cold from process start to answer.

    python -m benchmarks.latency [--corpus kubernetes-qa] [--home /tmp/bench]

Run `benchmarks.build_corpora` for the corpus first. Every question is asked once a round, after a warm-up round that is
not counted; cold runs start `rag-pipeline query` anew each time.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.corpora import DATA
from rag_pipeline.retrieval.retrieve import retrieve

ROUNDS = 5
COLD_RUNS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="kubernetes-qa")
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    arguments = parser.parse_args()
    lines = (DATA / arguments.corpus / "queries.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line)["text"] for line in lines]
    collection = arguments.corpus.replace("-", "_")
    print("| corpus | what | n | p50 ms | p95 ms | p99 ms |")
    print("|---|---|---|---|---|---|")
    for strategy in ("bm25", "vector", "hybrid"):
        taken = warm(questions, collection, strategy, arguments.home)
        show(arguments.corpus, f"{strategy}, warm, embedding included", taken)
    show(arguments.corpus, "`rag-pipeline query`, cold", cold(questions, collection, arguments.home))


def warm(questions: list[str], collection: str, strategy: str, home: Path) -> list[float]:
    """Milliseconds a call. Each round's wording differs by a trailing mark, so that no query embedding is cached."""
    taken = []
    for number in range(ROUNDS + 1):
        for question in questions:
            asked = question + "?" * number
            started = time.perf_counter()
            retrieve(asked, collection=collection, strategy=strategy, home=home)
            if number:
                taken.append((time.perf_counter() - started) * 1000)
    return taken


def cold(questions: list[str], collection: str, home: Path) -> list[float]:
    taken = []
    for question in questions[:COLD_RUNS]:
        command = [sys.executable, "-m", "rag_pipeline", "query", question, "-c", collection]
        started = time.perf_counter()
        subprocess.run([*command, "--home", str(home), "--json"], check=True, capture_output=True)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def show(corpus: str, what: str, taken: list[float]) -> None:
    p50, p95, p99 = np.percentile(taken, (50, 95, 99))
    print(f"| {corpus} | {what} | {len(taken)} | {p50:.1f} | {p95:.1f} | {p99:.1f} |", flush=True)


if __name__ == "__main__":
    main()
