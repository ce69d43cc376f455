"""The HTTP API under parallel clients: requests a second, latency, wrong answers, errors, memory.

    python -m benchmarks.serving_load --home data [--collection agent_platform] [--clients 1,4,16,64] [--seconds 60]

Starts `rag-pipeline serve` on a free port of loopback and stops it at the end. First every question is asked alone, and
its answer kept; then, for each number of clients, they ask in turns and every reply must be the answer to its own
question, with the same sections and the same context. Clients run in a process of their own on the same machine, so
throughput is that of both together. Exits with 1 after a wrong answer or an error.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.evaluation.labels import read_eval_set
from rag_pipeline.settings.bundled import bundled_eval_set


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path("data"))
    parser.add_argument("--collection", default="agent_platform")
    parser.add_argument("--context", default="agent")
    parser.add_argument("--clients", default="1,4,16,64")
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    eval_set, _ = read_eval_set(bundled_eval_set())
    questions = [q.text for q in eval_set.queries if q.principal is None and not q.filters]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "rag_pipeline.toml"
        # The limits are for strangers; here they would be what is measured.
        config.write_text("[serving]\nrequests_per_minute = 0\nqueue = 256\n")
        command = [sys.executable, "-m", "rag_pipeline", "serve", "--port", str(port), "--home", str(arguments.home)]
        server = subprocess.Popen([*command, "--config", str(config)], stderr=subprocess.DEVNULL)
        try:
            _wait(port, server)
            bodies = [
                json.dumps({"query": q, "collection": arguments.collection, "context": arguments.context}).encode()
                for q in questions
            ]
            answers = [_told(_ask(http.client.HTTPConnection("127.0.0.1", port), body)) for body in bodies]
            print("| clients | seconds | requests | a second | p50 ms | p95 ms | wrong | errors | memory MB |")
            print("|---|---|---|---|---|---|---|---|---|")
            failed = 0
            for clients in (int(n) for n in arguments.clients.split(",")):
                taken, wrong, errors = _asked(port, bodies, answers, clients=clients, seconds=arguments.seconds)
                failed += wrong + errors
                p50, p95 = np.percentile(taken, [50, 95])
                print(
                    f"| {clients} | {arguments.seconds:.0f} | {len(taken)} | {len(taken) / arguments.seconds:.0f} |"
                    f" {p50:.1f} | {p95:.1f} | {wrong} | {errors} | {_memory(server.pid):.0f} |",
                    flush=True,
                )
        finally:
            server.terminate()
            server.wait(20)
    sys.exit(1 if failed else 0)


def _asked(
    port: int, bodies: list[bytes], answers: list[Any], *, clients: int, seconds: float
) -> tuple[list[float], int, int]:
    """(milliseconds of every reply, wrong ones, failed ones), by clients in one process of their own."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=_clients, args=(port, bodies, answers, clients, seconds, queue))
    process.start()
    found = queue.get()
    process.join()
    return found


def _clients(port: int, bodies: list[bytes], answers: list[Any], clients: int, seconds: float, queue: Any) -> None:
    taken: list[float] = []
    wrong, errors = [], []
    until = time.monotonic() + seconds

    def run(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        number = first
        while time.monotonic() < until:
            number = (number + 7) % len(bodies)
            started = time.perf_counter()
            try:
                reply = _ask(connection, bodies[number])
            except (OSError, http.client.HTTPException, ValueError) as error:
                errors.append(repr(error))
                connection.close()
                continue
            taken.append((time.perf_counter() - started) * 1000)
            if _told(reply) != answers[number]:
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(n * 13,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in sorted(set(errors)):
        print(error, file=sys.stderr)
    queue.put((taken, len(wrong), len(errors)))


def _ask(connection: http.client.HTTPConnection, body: bytes) -> dict[str, Any]:
    connection.request("POST", "/api/rag/retrieve", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    if response.status != 200:
        raise ValueError(f"{response.status} {text[:200]!r}")
    return json.loads(text)


def _told(reply: dict[str, Any]) -> Any:
    """What must be the same whoever asks beside it."""
    result = reply["result"]
    return [[(c["source"], c["offsets"]) for c in result["chunks"]], result["formatted_context"]]


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"the server did not start (exit code {server.poll()})")


def _memory(pid: int) -> float:
    """Resident megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return float("nan")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
