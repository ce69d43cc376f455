"""Two acceptors on one loop stand for two processes: they share the sockets and the counts, and nothing else."""

import asyncio
import errno
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rag_pipeline.serving import accept as module
from rag_pipeline.serving.accept import ABSENT, Acceptor
from rag_pipeline.serving.listen import listen


class Held(asyncio.Protocol):
    """Says who it belongs to and stays open."""

    def __init__(self, name: bytes, held: "set[Held]") -> None:
        self.name = name
        self.held = held

    def connection_made(self, transport: Any) -> None:
        self.held.add(self)
        self.transport = transport
        transport.write(self.name)

    def connection_lost(self, _: Exception | None) -> None:
        self.held.remove(self)


def acceptor(sockets: list[socket.socket], shared: list[int], place: int) -> tuple[Acceptor, set[Held]]:
    held: set[Held] = set()
    made = Acceptor(
        sockets,
        shared=shared,
        place=place,
        connections=held,
        protocol=lambda: Held(str(place).encode(), held),
    )
    return made, held


async def owners(port: int, connections: int) -> tuple[list[bytes], list[asyncio.StreamWriter]]:
    opened = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(connections)))
    return [await reader.read(1) for reader, _ in opened], [writer for _, writer in opened]


def scenario(run: Callable[[list[socket.socket], int], Awaitable[None]]) -> None:
    sockets = listen("127.0.0.1", 0)
    try:
        asyncio.run(asyncio.wait_for(run(sockets, sockets[0].getsockname()[1]), 60))
    finally:
        for each in sockets:
            each.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


async def end(acceptors: list[Acceptor], writers: list[asyncio.StreamWriter]) -> None:
    for each in acceptors:
        each.stop()
    for writer in writers:
        writer.close()
        await writer.wait_closed()
    await asyncio.sleep(0.01)


def test_those_who_have_fewer_take_the_next() -> None:
    async def run(sockets: list[socket.socket], port: int) -> None:
        shared = [ABSENT, ABSENT, ABSENT]
        copies = [each.dup() for each in sockets]  # as another process has; a loop has one reader a descriptor
        (one, held), (other, _) = acceptor(sockets, shared, 0), acceptor(copies, shared, 1)
        one.start()
        first, writers = await owners(port, 6)  # the other one is not there yet
        assert first == [b"0"] * 6
        await until(lambda: shared == [6, ABSENT, ABSENT])
        other.start()
        second, more = await owners(port, 6)
        assert second == [b"1"] * 6
        await until(lambda: shared == [6, 6, ABSENT])
        third, rest = await owners(port, 10)
        assert third.count(b"0") == 5
        await until(lambda: sum(shared) == 22 + ABSENT)
        await end([one, other], writers + more + rest)
        for each in copies:
            each.close()
        await until(lambda: held == set())
        assert shared == [ABSENT] * 3

    scenario(run)


def test_what_another_does_not_take_is_taken_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.3)

    async def run(sockets: list[socket.socket], port: int) -> None:
        shared = [ABSENT, 0]  # one that is there and does nothing
        one, _ = acceptor(sockets, shared, 0)
        one.start()
        first, writers = await owners(port, 1)
        before = time.monotonic()
        second, more = await owners(port, 1)
        assert (first, second) == ([b"0"], [b"0"])
        assert time.monotonic() - before >= 0.29
        await end([one], writers + more)

    scenario(run)


def test_none_is_taken_after_the_end() -> None:
    async def run(sockets: list[socket.socket], port: int) -> None:
        shared = [ABSENT, 0]
        one, held = acceptor(sockets, shared, 0)
        one.start()
        _, writers = await owners(port, 1)
        _, waiting = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.sleep(0)  # it is left to the other one for a moment
        one.stop()
        assert one.tell() == 1 and shared == [ABSENT, 0]
        await asyncio.sleep(module.PATIENCE * 3)
        assert len(held) == 1
        await end([], [*writers, waiting])

    scenario(run)


def test_a_process_without_file_descriptors_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FULL_SECONDS", 0.05)

    class Full:
        """A listening socket whose first `accept` finds no descriptor left."""

        def __init__(self, real: socket.socket) -> None:
            self.real = real
            self.calls = 0

        def fileno(self) -> int:
            return self.real.fileno()

        def setblocking(self, flag: bool) -> None:
            self.real.setblocking(flag)

        def accept(self) -> Any:
            self.calls += 1
            if self.calls == 1:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return self.real.accept()

    async def run(sockets: list[socket.socket], port: int) -> None:
        full: Any = Full(sockets[0])
        one, _ = acceptor([full], [ABSENT], 0)
        one.start()
        found, writers = await owners(port, 1)
        assert found == [b"0"] and full.calls >= 2
        await end([one], writers)

    scenario(run)
