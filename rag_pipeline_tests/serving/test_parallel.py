"""Sixteen clients at once on a real port, while releases change under them: every answer belongs to its question."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from rag_pipeline.serving.app import create_app
from rag_pipeline.serving.settings import ServingSettings
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import bearer, settings_of, write_keys
from rag_pipeline_tests.serving.live import listening
from rag_pipeline_tests.stages import document

CLIENTS, SECONDS, TOPICS = 16, 2.0, 40


def test_every_answer_belongs_to_its_question(empty: Served, tmp_path: Path) -> None:
    pages = [
        document(f"topic{n}.md", f"word{n}x alone here", access=("group:finance",) if n % 2 else None)
        for n in range(TOPICS)
    ]
    first = empty.publish(pages).release_id
    second = empty.publish([*pages, document("more.md", "another page")], name="2").release_id
    options = ServingSettings(keys=write_keys(tmp_path / "keys.toml"), requests_per_minute=0)
    until = time.monotonic() + SECONDS
    stop = threading.Event()

    def swap() -> None:
        while not stop.wait(0.05):
            now = empty.paths.current.read_text().strip()
            fresh = empty.paths.root / "next"
            fresh.write_text((first if now == second else second) + "\n")
            fresh.replace(empty.paths.current)

    def client(number: int) -> list[str]:
        wrong, key = [], ("ruth", "bob")[number % 2]
        with httpx.Client(base_url=address, headers=bearer(key), timeout=30) as http:
            turn = number
            while time.monotonic() < until:
                turn += 1
                topic = turn % TOPICS
                reply = http.post("/api/rag/retrieve", json={"query": f"word{topic}x", "strategy": "bm25"})
                body = reply.json()
                found = [c["document"] for c in body["result"]["chunks"]] if reply.status_code == 200 else None
                hidden = topic % 2 and key == "bob"
                if found != ([] if hidden else [f"topic{topic}.md"]) or body["release"] not in (first, second):
                    wrong.append(f"{reply.status_code} {reply.text[:200]}")
                counts[number] += 1
        return wrong

    counts = [0] * CLIENTS
    with listening(create_app(settings_of(empty), serving=options)) as address:
        swapper = threading.Thread(target=swap)
        swapper.start()
        with ThreadPoolExecutor(CLIENTS) as clients:
            wrong = [message for found in clients.map(client, range(CLIENTS)) for message in found]
        stop.set()
        swapper.join()
    assert wrong == []
    assert min(counts) > 0
