"""The HTTP API while a build runs beside it at the priority that a re-index started through the API has.

    RAG_PIPELINE_SHARED=shared/data python -m benchmarks.serving_beside_build --home data [--workers 2] [--clients 1,4]
        [--seconds 10] [--rounds 5]

Clients ask for some seconds with nothing beside, then while docs-kubeflow is read, chunked and embedded from nothing in
another data directory; so in turns, and medians over the rounds are compared. The build is stopped at the end of each
turn. Exits with 1 after a wrong answer or an error.
"""

import argparse
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

from benchmarks.corpora import DATA
from benchmarks.serving_load import ask, asked_by_clients, bodies_of, server, told
from rag_pipeline.serving.reindex.process import NICER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("data"))
    parser.add_argument("--collection", default="agent_platform")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2, help="of each worker")
    parser.add_argument("--clients", default="1,4")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    bodies = bodies_of(arguments.collection, "agent")
    failed = 0
    print("| clients | beside | requests a second | p50 ms | p95 ms |\n|---|---|---|---|---|")
    with server(arguments.home, workers=arguments.workers, threads=arguments.threads) as (port, _):
        answers = [told(ask(http.client.HTTPConnection("127.0.0.1", port), body)) for body in bodies]
        asked_by_clients(port, bodies, answers, clients=8 * arguments.workers, seconds=2)
        for clients in map(int, arguments.clients.split(",")):
            found: dict[str, list[tuple[float, float, float]]] = {"nothing": [], "a build": []}
            for _ in range(arguments.rounds):
                for beside, rows in found.items():
                    with _build(arguments.home) if beside == "a build" else nullcontext():
                        asked = asked_by_clients(port, bodies, answers, clients=clients, seconds=arguments.seconds)
                    failed += asked.wrong + asked.errors
                    p50, p95 = np.percentile(asked.taken, [50, 95])
                    rows.append((len(asked.taken) / asked.seconds, p50, p95))
            medians = {beside: np.median(rows, axis=0) for beside, rows in found.items()}
            for beside, (rate, p50, p95) in medians.items():
                print(f"| {clients} | {beside} | {rate:.0f} | {p50:.1f} | {p95:.1f} |")
            ratio = medians["a build"][2] / medians["nothing"][2]
            print(f"| {clients} | ratio of p95 | | | {ratio:.2f} |", flush=True)
    sys.exit(1 if failed else 0)


@contextmanager
def _build(home: Path) -> Iterator[None]:
    """Runs while the block does, from a moment at which it embeds."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        fresh = Path(folder) / "home"
        fresh.mkdir()
        shutil.copytree(home / "models", fresh / "models")
        source = str(DATA / "docs-kubeflow" / "content")
        command = [sys.executable, "-m", "rag_pipeline", "reindex", "--source", source, "--home", str(fresh)]
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                command, stdout=said, stderr=said, preexec_fn=lambda: os.nice(NICER), start_new_session=True
            )
            try:
                _wait_for_embedding(process, fresh)
                yield
                if process.poll() is not None:
                    said.seek(0)
                    sys.exit(f"the build ended (exit code {process.returncode}) too early: {said.read()[-500:]}")
            finally:
                process.terminate()
                process.wait(60)


def _wait_for_embedding(process: "subprocess.Popen[bytes]", home: Path) -> None:
    deadline = time.monotonic() + 300
    while not any(home.glob("embeddings/*/*")):
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit("the build did not come to embed anything")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
