"""Milliseconds to rerank 20 candidates of 128 tokens with MaxSim, by precision of the token vectors.

    python -m benchmarks.rerank_speed [--home /tmp/rag_pipeline_bench] [--queries 30]

Run `benchmarks.build_corpora` for kubernetes-qa first: candidates are its chunks of at least 128 tokens, drawn with a
fixed seed, other ones for every question. All sides take turns on each question in one process, after a warm-up that
is not counted; "kept" asks once more, when the token vectors are in memory. Cores are shared with other programs, so
processor time is printed too: divided by the cores, it is about what an idle machine takes.
"""

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.corpora import DATA
from benchmarks.embedding_speed import processor
from rag_pipeline.embedding.registry import load_embedder
from rag_pipeline.processor import cores
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.maxsim import WINDOW, MaxSimReranker
from rag_pipeline.reranking.token_model import TOKEN_MODELS, open_token_model
from rag_pipeline.settings.build import EmbeddingSettings
from rag_pipeline.text.tokenizer import Tokenizer

CANDIDATES = 20
WARM_UP = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    parser.add_argument("--queries", type=int, default=30)
    arguments = parser.parse_args()
    models = arguments.home / "models"
    embedder = load_embedder(EmbeddingSettings(), models)
    passages = long_passages(arguments.home, embedder.tokenizer)
    lines = (DATA / "kubernetes-qa" / "queries.jsonl").read_text("utf-8").splitlines()
    chosen = np.random.default_rng(0).choice(len(lines), arguments.queries + WARM_UP, replace=False)
    questions = [json.loads(lines[row])["text"] for row in chosen]
    sides = {
        precision: MaxSimReranker(
            open_token_model(models, embedder.fingerprint, precision=precision, cache_bytes=100_000_000)
        )
        for precision in TOKEN_MODELS
    }
    print(
        f"{CANDIDATES} candidates of {WINDOW} tokens, {arguments.queries} questions; {processor()}, {cores()} cores; "
        + ", ".join(f"{name} {version(name)}" for name in ("onnxruntime", "openvino"))
    )
    clock, used = measure(sides, questions, passages)
    print("\n| token vectors | p50 ms | p95 ms | processor ms / cores, p50 | ratio, processor time |")
    print("|---|---|---|---|---|")
    base = float(np.median(used["fp32"]))
    for name, taken in clock.items():
        p50, p95 = np.percentile(taken, (50, 95))
        own = float(np.median(used[name]))
        print(f"| {name} | {p50:.0f} | {p95:.0f} | {own / cores():.0f} | {base / own:.1f} |")


def long_passages(home: Path, tokenizer: Tokenizer) -> list[str]:
    files = sorted((home / "kubernetes_qa" / "builds").glob("*/chunks.parquet"))
    if not files:
        raise SystemExit(f"{home} holds no build of kubernetes-qa; run python -m benchmarks.build_corpora first")
    texts = pq.read_table(files[0], columns=["search_text"]).column(0).to_pylist()
    return [text for text in texts if tokenizer.count(text) >= WINDOW]


def measure(
    sides: dict[str, MaxSimReranker], questions: list[str], passages: list[str]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Milliseconds by the clock and of processor time, one of each a question."""
    rng = np.random.default_rng(1)
    clock: dict[str, list[float]] = {}
    used: dict[str, list[float]] = {}
    for number, question in enumerate(questions):
        drawn = rng.choice(len(passages), CANDIDATES, replace=False)
        candidates = [Passage(str(row), passages[row]) for row in drawn]
        for name, reranker in sides.items():
            for side in (name, f"{name}, kept"):
                started, before = time.perf_counter(), time.process_time()
                reranker.rerank(question, candidates)
                if number >= WARM_UP:
                    clock.setdefault(side, []).append((time.perf_counter() - started) * 1000)
                    used.setdefault(side, []).append((time.process_time() - before) * 1000)
    return clock, used


if __name__ == "__main__":
    main()
