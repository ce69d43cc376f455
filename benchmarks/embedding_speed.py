"""Chunks a second and milliseconds a query, by runtime and precision, against sentence-transformers' own `encode`.

    python -m benchmarks.embedding_speed [--home /tmp/rag_pipeline_bench] [--chunks 96] [--rounds 5]

Run `benchmarks.build_corpora` for kubernetes-qa first: its chunks are embedded, drawn with a fixed seed. All sides take
turns in one process, after a round that is not counted; figures are medians. Cores are shared with other programs, so
the ratio is given twice: by the clock, and by processor time, which other programs disturb less.
"""

import argparse
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rag_pipeline.embedding.packaged import packaged_folder
from rag_pipeline.embedding.quiet import quiet
from rag_pipeline.embedding.registry import load_embedder
from rag_pipeline.processor import cores
from rag_pipeline.settings.build import PRECISIONS, EmbeddingSettings

MODEL = "all-MiniLM-L6-v2"
QUERIES = 40
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    parser.add_argument("--chunks", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    texts = chunks(arguments.home, arguments.chunks)
    sides = {"sentence-transformers encode, fp32": torch_encode("float32")}
    sides["sentence-transformers encode, bf16"] = torch_encode("bfloat16")
    for runtime in ("onnxruntime", "openvino"):
        for precision in PRECISIONS[runtime]:
            settings = EmbeddingSettings(runtime=runtime, precision=precision)
            sides[f"{runtime} {precision}"] = load_embedder(settings, arguments.home / "models").embed
    packages = ("sentence-transformers", "torch", "onnxruntime", "openvino")
    print(
        f"{MODEL}; {len(texts)} chunks of kubernetes-qa; {processor()}, {cores()} cores; "
        + ", ".join(f"{name} {version(name)}" for name in packages)
    )
    clock, used, vectors = measure(sides, texts, arguments.rounds)
    queries = query_times(sides, arguments.rounds)
    own = next(iter(sides))
    print("\n| side | chunks/s | ratio | ratio, processor time | least cosine | query, ms |")
    print("|---|---|---|---|---|---|")
    for name in sides:
        cosine = float((vectors[name] * vectors[own]).sum(axis=1).min())
        ratios = f"{clock[own] / clock[name]:.2f} | {used[own] / used[name]:.2f}"
        print(f"| {name} | {len(texts) / clock[name]:.1f} | {ratios} | {cosine:.5f} | {queries[name]:.1f} |")


def chunks(home: Path, count: int) -> list[str]:
    files = sorted((home / "kubernetes_qa" / "builds").glob("*/chunks.parquet"))
    if not files:
        raise SystemExit(f"{home} holds no build of kubernetes-qa; run python -m benchmarks.build_corpora first")
    texts = pq.read_table(files[0], columns=["search_text"]).column(0).to_pylist()
    chosen = np.random.default_rng(0).choice(len(texts), count, replace=False)
    return [texts[row] for row in chosen]


def torch_encode(dtype: str) -> Embed:
    import torch
    from sentence_transformers import SentenceTransformer

    with quiet():
        model = SentenceTransformer(
            str(packaged_folder(MODEL)), device="cpu", model_kwargs={"dtype": getattr(torch, dtype)}
        )

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        made = model.encode(list(texts), convert_to_tensor=True, show_progress_bar=False).float().numpy()
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True))

    return encode


def measure(
    sides: dict[str, Embed], texts: list[str], rounds: int
) -> tuple[dict[str, float], dict[str, float], dict[str, NDArray[np.float32]]]:
    """Medians of seconds by the clock and of processor time, and the vectors."""
    clock: dict[str, list[float]] = {name: [] for name in sides}
    used: dict[str, list[float]] = {name: [] for name in sides}
    vectors = {}
    for number in range(rounds + 1):
        for name, embed in sides.items():
            started, before = time.perf_counter(), time.process_time()
            vectors[name] = embed(texts)
            if number:
                clock[name].append(time.perf_counter() - started)
                used[name].append(time.process_time() - before)
    return (
        {name: float(np.median(taken)) for name, taken in clock.items()},
        {name: float(np.median(taken)) for name, taken in used.items()},
        vectors,
    )


def query_times(sides: dict[str, Embed], rounds: int) -> dict[str, float]:
    """Median milliseconds of one question, every time another one."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(QUERIES * rounds // 5):
        for name, embed in sides.items():
            question = [f"How do I roll back deployment {number} to an earlier revision?"]
            started = time.perf_counter()
            embed(question)
            taken[name].append((time.perf_counter() - started) * 1000)
    return {name: float(np.median(times[2:])) for name, times in taken.items()}


def processor() -> str:
    """Its name, and which of the instructions that matter here it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = {line.split(":")[0].strip(): line.split(":", 1)[1].strip() for line in lines if ":" in line}
    has = [
        name for name in ("avx2", "avx512_vnni", "avx512_bf16", "amx_bf16") if name in found.get("flags", "").split()
    ]
    return f"{found.get('model name', 'unknown processor')} ({', '.join(has)})"


if __name__ == "__main__":
    main()
