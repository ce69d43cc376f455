"""The server as processes: this one alone, or several on one address and this one to start, replace and stop them.

uvicorn has a supervisor too; it starts an app that can't start again and again, ends with 0 when it gave up, kills a
worker that takes five seconds to begin, and leaves its workers behind when it is killed itself.
"""

import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import uvicorn
from prometheus_client.multiprocess import mark_process_dead

from rag_pipeline.serving.accept import ABSENT
from rag_pipeline.serving.keys import KeyFile
from rag_pipeline.serving.listen import listen
from rag_pipeline.serving.query_log import open_query_log
from rag_pipeline.serving.settings import ServingSettings, check_listen
from rag_pipeline.serving.worker import WORKERS_LOG_FORMAT, Work, work_on
from rag_pipeline.settings.load import Settings

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds before a worker that ended before it answered is followed by another; each time twice as long."""
SILENT_SECONDS = 60.0
"""Until a worker whose event loop no longer turns is killed, and followed by another."""
LISTEN_SECONDS = 5.0
"""Between two looks at whether they turn."""
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
log = logging.getLogger("rag_pipeline.serving")


def serve(settings: Settings, *, serving: ServingSettings, config: Path | None) -> int:
    """Answer until SIGTERM or SIGINT; returns the exit code. `config` is the settings file a re-index is to read too.

    Raises InvalidSettings, StorageUnavailable before anything is started.
    """
    if serving.workers > 1:
        return _serve_by_many(settings, serving=serving, config=config)
    from rag_pipeline.serving.app import create_app

    app = create_app(settings, serving=serving, config=config)
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    # Our own log has a line a request, without what was asked; uvicorn's would hold whole addresses.
    uvicorn.run(app, host=serving.host, port=serving.port, access_log=False, server_header=False, log_config=None)
    return 0


def _serve_by_many(settings: Settings, *, serving: ServingSettings, config: Path | None) -> int:
    check_listen(serving)
    if serving.keys is not None:
        KeyFile(serving.keys).ring()
    open_query_log(settings.home, serving)
    with ExitStack() as opened:
        sockets = [opened.enter_context(each) for each in listen(serving.host, serving.port)]
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="rag_pipeline_metrics_"))
        logging.basicConfig(level=logging.INFO, format=WORKERS_LOG_FORMAT)
        host = f"[{serving.host}]" if ":" in serving.host else serving.host
        log.info("%d workers on http://%s:%d", serving.workers, host, sockets[0].getsockname()[1])
        work = Work(settings, serving, config, Path(folder))
        return Workers(work, sockets).run()


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    place: int
    started: Connection
    answers: bool = False
    beat: int = 0
    heard: float = 0.0
    """When `beat` was last another one."""


class Workers:
    def __init__(self, work: Work, sockets: Sequence[socket.socket]) -> None:
        self._work = work
        self._sockets = sockets
        self._context = multiprocessing.get_context("spawn")
        self._shared = self._context.RawArray("i", [ABSENT] * work.serving.workers)
        self._beats = self._context.RawArray("L", work.serving.workers)
        self._workers: list[_Worker] = []
        self._missing: list[float] = []
        """When to start one in place of each that ended."""
        self._pause = 0.0
        self._ever = False
        """Whether any has answered yet."""
        self._stopping = False
        self._listened = time.monotonic()
        self._code = 0

    def run(self) -> int:
        """Until a signal has ended all of them (0), or the first ones could not begin (their exit code)."""
        with _signals() as signals:
            self._missing = [time.monotonic()] * self._work.serving.workers
            while self._workers or not self._stopping:
                self._start_due()
                for what in wait([signals, *self._watched()], self._seconds()):
                    if what is signals:
                        self._signalled(signals.recv_bytes()[0])
                self._look()
                self._listen()
        return self._code

    def _start_due(self) -> None:
        now = time.monotonic()
        for due in [due for due in self._missing if due <= now]:
            self._missing.remove(due)
            ours, theirs = multiprocessing.Pipe(duplex=False)
            place = min(set(range(len(self._shared))) - {worker.place for worker in self._workers})
            process = self._context.Process(
                target=work_on,
                args=(self._work, self._sockets, self._shared, self._beats, place, theirs),
                name="rag_pipeline worker",
            )
            with closing(theirs):  # so that ours ends with the process
                process.start()
            self._workers.append(_Worker(process, place, ours))

    def _watched(self) -> Iterator[Any]:
        for worker in self._workers:
            yield worker.process.sentinel
            if not worker.answers:
                yield worker.started

    def _seconds(self) -> float:
        """Until the next start or the next look, unless something happens before."""
        return max(0.0, min([*self._missing, self._listened + LISTEN_SECONDS]) - time.monotonic())

    def _look(self) -> None:
        for worker in list(self._workers):
            if not worker.answers and worker.started.poll():
                worker.answers = _told(worker.started)
                if worker.answers:
                    self._ever, self._pause = True, 0.0
            if not worker.process.is_alive():
                self._ended(worker)

    def _listen(self) -> None:
        """Kill the workers that have been silent too long. While they end they don't beat."""
        now = time.monotonic()
        slept = now - self._listened > 2 * LISTEN_SECONDS  # this process stood still, so perhaps all of them did
        if now - self._listened < LISTEN_SECONDS or self._stopping:
            return
        self._listened = now
        for worker in self._workers:
            beat = self._beats[worker.place]
            if slept or beat != worker.beat or not worker.answers:
                worker.beat, worker.heard = beat, now
            elif now - worker.heard >= SILENT_SECONDS:
                log.error("worker %s has been silent for %.0f s; killed", worker.process.pid, now - worker.heard)
                worker.process.kill()

    def _ended(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.process.join()
        worker.started.close()
        self._shared[worker.place] = ABSENT
        mark_process_dead(worker.process.pid, str(self._work.metrics))  # type: ignore[no-untyped-call]
        if self._stopping:
            return
        code = worker.process.exitcode
        if not worker.answers and not self._ever:
            log.error("worker %s ended (%s) before it could answer; stopping", worker.process.pid, code)
            self._code = code if code and code > 0 else 1
            self._stop(signal.SIGTERM)
            return
        if not worker.answers:
            self._pause = min(LONGEST_PAUSE, self._pause * 2 or FIRST_PAUSE)
        log.error("worker %s ended (%s); the next one starts in %.0f s", worker.process.pid, code, self._pause)
        self._missing.append(time.monotonic() + self._pause)

    def _signalled(self, number: int) -> None:
        """The first one asks for a graceful end. A terminal sends Ctrl+C to the workers as well, and they take a second
        SIGINT for "at once": so it is handed on only where it is the second here too."""
        self._stop(number if self._stopping else signal.SIGTERM)

    def _stop(self, number: int) -> None:
        self._stopping = True
        self._missing.clear()
        for worker in self._workers:
            if worker.process.is_alive():
                os.kill(worker.process.pid or 0, number)


@contextmanager
def _signals() -> Iterator[Connection]:
    """A connection that says the number of each SIGTERM and SIGINT, one byte each."""
    arrived, tell = multiprocessing.Pipe(duplex=False)
    with closing(arrived), closing(tell):
        before = {
            number: signal.signal(number, lambda got, _: tell.send_bytes(bytes([got])))
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield arrived
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _told(started: Connection) -> bool:
    """False where the process ended without a word."""
    try:
        return bool(started.recv_bytes())
    except EOFError:
        return False
