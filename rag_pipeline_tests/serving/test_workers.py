"""Several processes behind one port, as a client and an operator see them."""

import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.querylog.read import read_log
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import write_keys
from rag_pipeline_tests.serving.processes import Running, alive, running, until

CONFIG = "[serving]\nrequests_per_minute = 0\nquery_log = true\n[collections.test]\n"


@pytest.fixture
def server(served: Served, tmp_path: Path) -> Iterator[Running]:
    """Two workers that record what is asked."""
    config = tmp_path / "rag_pipeline.toml"
    config.write_text(CONFIG)
    with running(served.home.root, tmp_path, "--workers", "2", "--config", str(config)) as server:
        yield server


def ask(http: httpx.Client, query: str = "pump oil") -> Any:
    reply = http.post("/api/rag/retrieve", json={"query": query, "collection": "test"})
    assert reply.status_code == 200, reply.text
    return reply.json()


@contextmanager
def a_client_of_each(server: Running) -> Iterator[dict[int, httpx.Client]]:
    """By process id: a connection is answered by one worker as long as it is open."""
    found: dict[int, httpx.Client] = {}
    with ExitStack() as opened:

        def connect() -> bool:
            client = opened.enter_context(httpx.Client(base_url=server.url, timeout=60))
            asked = len(server.answered())
            ask(client)
            until(lambda: len(server.answered()) > asked)
            found.setdefault(server.answered()[-1], client)
            return len(found) == 2

        until(connect)
        yield found


def counted(client: httpx.Client) -> int:
    """Questions answered, as the metrics have them."""
    text = client.get("/metrics").text
    found = re.search(r'^rag_pipeline_requests_total\{.*route="/api/rag/retrieve",status="200"\} (\S+)$', text, re.M)
    return int(float(found[1])) if found else 0


def test_both_answer_and_either_tells_the_sum(server: Running) -> None:
    with a_client_of_each(server) as clients:
        assert set(clients) == server.workers()
        for client in clients.values():
            for _ in range(3):
                ask(client)
        until(lambda: len(server.answered()) >= 8)
        for client in clients.values():  # the log may still be behind the replies, so it is read again each time
            assert until(lambda c=client: counted(c) == len(server.answered()))
        texts = [client.get("/metrics").text for client in clients.values()]
        for text in texts:
            assert text.count("\nrag_pipeline_release_served{") == 1
            assert "\nrag_pipeline_retrievals_pending 0.0\n" in text


def test_connections_that_come_at_once_are_shared_out(server: Running) -> None:
    """Whichever process wakes first would take them all."""
    with a_client_of_each(server), ExitStack() as opened, ThreadPoolExecutor(16) as threads:
        clients = [opened.enter_context(httpx.Client(base_url=server.url, timeout=60)) for _ in range(16)]
        before = len(server.answered())
        list(threads.map(ask, clients))
        until(lambda: len(server.answered()) == before + 16)
        counts = Counter(server.answered()[before:])
    assert len(counts) == 2 and min(counts.values()) >= 4


def test_a_worker_that_dies_is_replaced_and_what_it_counted_stays(server: Running) -> None:
    with a_client_of_each(server) as clients:
        before = server.workers()
        killed = min(before)
        asked = len(server.answered())
        until(lambda: counted(clients[max(before)]) == asked)
        os.kill(killed, signal.SIGKILL)
        until(lambda: len(server.workers() - before) == 1 and killed not in server.workers())
        assert counted(clients[max(before)]) == asked
        ask(clients[max(before)])
    (fresh,) = server.workers() - before

    def answered_by_the_new_one() -> bool:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            ask(client)
        return fresh in server.answered()

    until(answered_by_the_new_one)
    assert len(server.lines(f"worker {killed} ended (-9)")) == 1


def test_a_worker_that_hangs_is_replaced_and_one_that_idles_is_not(served: Served, tmp_path: Path) -> None:
    with running(served.home.root, tmp_path, "--workers", "2", silent=3) as server:
        with a_client_of_each(server) as clients:
            before = server.workers()
            time.sleep(6)
            assert server.workers() == before
            os.kill(min(before), signal.SIGSTOP)
            until(lambda: len(server.workers() - before) == 1 and min(before) not in server.workers())
            ask(clients[max(before)])
        assert len(server.lines(f"worker {min(before)} has been silent for ")) == 1
        assert len(server.lines(f"worker {min(before)} ended (-9)")) == 1
        assert server.lines(f"worker {max(before)}") == []


def test_a_server_that_was_stopped_and_goes_on_kills_no_worker(served: Served, tmp_path: Path) -> None:
    with running(served.home.root, tmp_path, "--workers", "2", silent=3) as server, a_client_of_each(server) as clients:
        before = server.workers()
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in (server.process.pid, *before):
                os.kill(pid, number)
            time.sleep(5)
        for client in clients.values():
            ask(client)
        assert server.workers() == before and server.lines("silent") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_them_all(server: Running, number: signal.Signals) -> None:
    with a_client_of_each(server):
        workers = server.workers()
        assert len(list(server.temporary.glob("rag_pipeline_metrics_*"))) == 1
        server.process.send_signal(number)
        assert server.process.wait(60) == 0
    assert [pid for pid in workers if alive(pid)] == []
    assert list(server.temporary.glob("rag_pipeline_metrics_*")) == []
    assert len(server.lines("Finished server process")) == 2
    assert server.lines("Traceback") == []


def test_workers_end_with_a_supervisor_that_was_killed(server: Running) -> None:
    with a_client_of_each(server):
        workers = server.workers()
        server.process.kill()
        until(lambda: not any(alive(pid) for pid in workers))
    assert len(server.lines("Finished server process")) == 2


def test_a_run_that_one_worker_started_is_known_to_the_other(server: Running) -> None:
    with a_client_of_each(server) as clients:
        one, other = clients.values()
        started = one.post("/api/documents/reindex-all", json={"collection": "test"})
        assert started.status_code == 202
        place = started.headers["location"]
        assert other.get(place).json()["run_id"] == started.json()["run_id"]
        until(lambda: other.get(place).json()["state"] != "running")
        ended = [client.get(place).json() for client in clients.values()]
        assert ended[0] == ended[1]
        assert (ended[0]["state"], ended[0]["error"]["type"]) == ("failed", "InvalidSettings")


def test_every_question_is_recorded_once_and_any_worker_finds_it(server: Running, served: Served) -> None:
    def some(number: int) -> list[str | None]:
        with httpx.Client(base_url=server.url, timeout=60) as http:
            return [ask(http, f"pump {number} {turn} " + "long " * 200)["query_id"] for turn in range(20)]

    with a_client_of_each(server) as clients, ThreadPoolExecutor(8) as threads:
        ids = [query_id for found in threads.map(some, range(8)) for query_id in found]
        kept = {query_id for query_id in ids if query_id is not None}
        assert len(kept) >= 150  # a writer that waits too long gives up, and says so
        rows = read_log(served.home.query_log, days=30)
        recorded = [row.query_id for row in rows.queries if row.query.startswith("pump ") and "long" in row.query]
        assert rows.unreadable == 0
        assert len(recorded) == len(kept) and set(recorded) == kept
        assert len(set(server.answered())) == 2
        for client in clients.values():
            for query_id in sorted(kept)[:3]:
                reply = client.post("/api/rag/feedback", json={"query_id": query_id, "rating": "useful"})
                assert reply.status_code == 200


def test_where_none_can_begin_the_server_ends_with_their_code(served: Served, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.touch()
    with running(served.home.root, tmp_path, "--workers", "2", broken=broken) as server:
        assert server.process.wait(60) == 9
        assert len(server.lines("before it could answer; stopping")) == 1


def test_a_replacement_that_cannot_begin_is_tried_again_more_and_more_slowly(served: Served, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    with running(served.home.root, tmp_path, "--workers", "2", broken=broken) as server:
        with a_client_of_each(server) as clients:
            before = server.workers()
            broken.touch()
            os.kill(min(before), signal.SIGKILL)
            until(lambda: server.lines("ended (9); the next one starts in 1 s"))
            until(lambda: server.lines("ended (9); the next one starts in 2 s"))
            ask(clients[max(before)])
            broken.unlink()
            until(lambda: len(server.workers()) == 2 and len(server.lines("Started server process")) == 3)
        assert len(server.lines("ended (9)")) < 6


def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[str]]:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--workers", "2", "--home", str(tmp_path / "home"), *options])
    return int(ended.value.code or 0), capsys.readouterr().err.splitlines()


def test_what_cannot_be_served_is_told_once_before_any_worker_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_pipeline.serving.workers.Workers.run", lambda _: pytest.fail("a worker began"))
    code, said = refused(tmp_path, capsys, "--host", "0.0.0.0")
    assert code == 3 and len(said) == 1 and "refusing to listen on 0.0.0.0 without keys" in said[0]
    code, said = refused(tmp_path, capsys, "--keys", str(tmp_path / "none.toml"))
    assert code == 3 and len(said) == 1 and "key file not readable" in said[0]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = refused(tmp_path, capsys, "--port", str(taken.getsockname()[1]))
    assert code == 3 and len(said) == 1 and "Address already in use" in said[0]
    file = tmp_path / "file"
    file.touch()
    config = tmp_path / "rag.toml"
    config.write_text("[serving]\nquery_log = true\n")
    code, said = refused(tmp_path, capsys, "--config", str(config), "--home", str(file / "home"))
    assert code == 17 and len(said) == 1


def test_each_of_several_allows_its_share(served: Served, tmp_path: Path) -> None:
    from rag_pipeline_tests.serving.api import bearer, serving

    options = {"keys": write_keys(tmp_path / "keys.toml"), "requests_per_minute": 60, "burst": 5}
    with serving(served, workers=2, **options) as client:
        codes = [client.get("/metrics", headers=bearer("bob")) for _ in range(4)]
        assert [reply.status_code for reply in codes] == [200, 200, 200, 429]
        assert int(codes[-1].headers["retry-after"]) == 2  # half a request a second
    with serving(served, workers=1, **options) as client:
        assert [client.get("/metrics", headers=bearer("bob")).status_code for _ in range(6)] == [200] * 5 + [429]
