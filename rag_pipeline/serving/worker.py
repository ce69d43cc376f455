"""One of several processes that answer on the same sockets: what it is given, how it begins and what ends it."""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import uvicorn

from rag_pipeline.errors import RagPipelineError
from rag_pipeline.serving.accept import Acceptor, Shared
from rag_pipeline.serving.settings import SHARED_METRICS, ServingSettings
from rag_pipeline.settings.load import Settings

WORKERS_LOG_FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s %(message)s"
log = logging.getLogger("rag_pipeline.serving")


@dataclass(frozen=True, slots=True)
class Work:
    """Goes to a worker through a pipe, so that all have the settings that were checked and none stand in `ps`."""

    settings: Settings
    serving: ServingSettings
    config: Path | None
    """The settings file that a re-index is to read too."""
    metrics: Path
    """A folder, gone with the server."""


def work_on(
    work: Work,
    sockets: Sequence[socket.socket],
    shared: Shared,
    beats: MutableSequence[int],
    place: int,
    started: Connection,
) -> None:
    """Answer until a signal, or the end of the process that began this one. Says one byte once it answers, and counts
    up its place in `beats` as long as its event loop turns."""
    # Ctrl+C reaches every process of a terminal. The server listens to it; before that the supervisor's word ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    os.environ[SHARED_METRICS] = str(work.metrics)  # looked at once, when prometheus_client is imported
    from rag_pipeline.serving.app import create_app

    logging.basicConfig(level=logging.INFO, format=WORKERS_LOG_FORMAT)
    try:
        app = create_app(work.settings, serving=work.serving, config=work.config)
    except RagPipelineError as error:
        log.error("%s", error)
        sys.exit(error.exit_code)
    config = uvicorn.Config(app, access_log=False, server_header=False, log_config=None)
    _Server(config, sockets, shared=shared, beats=beats, place=place, started=started).run([])


class _Server(uvicorn.Server):
    """Given no sockets of its own: the acceptor brings it its connections."""

    def __init__(
        self,
        config: uvicorn.Config,
        sockets: Sequence[socket.socket],
        *,
        shared: Shared,
        beats: MutableSequence[int],
        place: int,
        started: Connection,
    ) -> None:
        super().__init__(config)
        self._begun = started
        self._beats, self._place = beats, place
        self._acceptor = Acceptor(
            sockets, shared=shared, place=place, connections=self.server_state.connections, protocol=self._protocol
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._acceptor.start()
        self._begun.send_bytes(b"1")

    async def on_tick(self, counter: int) -> bool:
        self._beats[self._place] = counter
        self._acceptor.tell()  # connections end without a word to it
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._acceptor.stop()
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


def _end_with_parent() -> None:
    """Nobody would stop a worker whose supervisor was killed, and it would hold the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
