"""The HTTP API under parallel clients: requests a second, latency, wrong answers, errors, processor time, memory.

    python -m benchmarks.serving_load --home data [--collection agent_platform] [--workers 1,2] [--threads 4]
        [--clients 1,4,16,64] [--seconds 60]

Starts `rag-pipeline serve` on a free port of loopback and stops it at the end, once for each number of workers. First
every question is asked alone, and its answer kept; then, for each number of clients, they ask in turns and every reply
must be the answer to its own question, with the same sections and the same context. Clients run in a process of their
own on the same machine, so throughput is that of both together; "cores" says how much of it each of the two used.
Memory is that of all processes of the server, what several of them share counted once (the sum of their Pss). Exits
with 1 after a wrong answer or an error.
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
    parser.add_argument("--workers", default="1", help="one server after another, as 1,2")
    parser.add_argument("--threads", type=int, default=4, help="of each worker")
    parser.add_argument("--clients", default="1,4,16,64")
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    bodies = bodies_of(arguments.collection, arguments.context)
    titles = "requests | a second | p50 ms | p95 ms | wrong | errors | cores | of clients | memory MB"
    print(f"| workers | clients | {titles} |\n|{'---|' * 11}")
    failed = 0
    for workers in _numbers(arguments.workers):
        with server(arguments.home, workers=workers, threads=arguments.threads) as (port, pid):
            answers = [told(ask(http.client.HTTPConnection("127.0.0.1", port), body)) for body in bodies]
            asked_by_clients(port, bodies, answers, clients=8 * workers, seconds=2)  # so that every worker has begun
            for clients in _numbers(arguments.clients):
                before = processor_seconds(pid)
                asked = asked_by_clients(port, bodies, answers, clients=clients, seconds=arguments.seconds)
                used = (processor_seconds(pid) - before) / asked.seconds
                failed += asked.wrong + asked.errors
                p50, p95 = np.percentile(asked.taken, [50, 95])
                print(
                    f"| {workers} | {clients} | {len(asked.taken)} | {len(asked.taken) / asked.seconds:.0f} |"
                    f" {p50:.1f} | {p95:.1f} | {asked.wrong} | {asked.errors} | {used:.2f} |"
                    f" {asked.processor_seconds / asked.seconds:.2f} | {_memory(pid):.0f} |",
                    flush=True,
                )
    sys.exit(1 if failed else 0)


@dataclass(frozen=True, slots=True)
class Asked:
    taken: list[float]
    """Milliseconds of every reply."""
    wrong: int
    errors: int
    seconds: float
    processor_seconds: float
    """Of the clients."""


def bodies_of(collection: str, context: str) -> list[bytes]:
    """Requests: the bundled questions that anybody may ask."""
    eval_set, _ = read_eval_set(bundled_eval_set())
    questions = [q.text for q in eval_set.queries if q.principal is None and not q.filters]
    return [json.dumps({"query": q, "collection": collection, "context": context}).encode() for q in questions]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


@contextmanager
def server(home: Path, *, workers: int, threads: int) -> Iterator[tuple[int, int]]:
    """(port, process id) of a server that answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "rag_pipeline.toml"
        # The limits are for strangers; here they would be what is measured.
        config.write_text(f"[serving]\nrequests_per_minute = 0\nqueue = 256\nthreads = {threads}\n")
        command = [sys.executable, "-m", "rag_pipeline", "serve", "--port", str(port), "--workers", str(workers)]
        options = ["--home", str(home), "--config", str(config)]
        server = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
        try:
            _wait(port, server)
            yield port, server.pid
        finally:
            server.terminate()
            server.wait(20)


def asked_by_clients(port: int, bodies: list[bytes], answers: list[Any], *, clients: int, seconds: float) -> Asked:
    """By clients in one process of their own."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=_clients, args=(port, bodies, answers, clients, seconds, queue))
    process.start()
    found: Asked = queue.get()
    process.join()
    return found


def _clients(port: int, bodies: list[bytes], answers: list[Any], clients: int, seconds: float, queue: Any) -> None:
    taken: list[float] = []
    wrong, errors = [], []
    began, processor = time.monotonic(), time.process_time()
    until = began + seconds

    def run(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        number = first
        while time.monotonic() < until:
            number = (number + 7) % len(bodies)
            started = time.perf_counter()
            try:
                reply = ask(connection, bodies[number])
            except (OSError, http.client.HTTPException, ValueError) as error:
                errors.append(repr(error))
                connection.close()
                continue
            taken.append((time.perf_counter() - started) * 1000)
            if told(reply) != answers[number]:
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(n * 13,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in sorted(set(errors)):
        print(error, file=sys.stderr)
    lasted = time.monotonic() - began
    queue.put(Asked(taken, len(wrong), len(errors), lasted, time.process_time() - processor))


def ask(connection: http.client.HTTPConnection, body: bytes) -> dict[str, Any]:
    connection.request("POST", "/api/rag/retrieve", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    if response.status != 200:
        raise ValueError(f"{response.status} {text[:200]!r}")
    return json.loads(text)


def told(reply: dict[str, Any]) -> Any:
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


def _processes(pid: int) -> list[Path]:
    """Folders under /proc of a process and all that it began."""
    found, waiting = [], [pid]
    while waiting:
        folder = Path(f"/proc/{waiting.pop()}")
        found.append(folder)
        for children in folder.glob("task/*/children"):
            waiting += [int(child) for child in children.read_text().split()]
    return found


def processor_seconds(pid: int) -> float:
    """User and system time of a server's processes; see proc_pid_stat(5)."""
    ticks = 0
    for folder in _processes(pid):
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    """Resident megabytes of a server's processes; a page that several share counts once."""
    kilobytes = 0
    for folder in _processes(pid):
        lines = (folder / "smaps_rollup").read_text().splitlines()
        kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1024


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
