"""Which of several processes takes the next connection: one that has the fewest.

Left to the system, whichever process wakes first takes every connection that waits. Clients keep connections open, so
what came at once would stay with one process while the others idle.
"""

import asyncio
import errno
import socket
from collections.abc import Callable, MutableSequence, Sequence
from collections.abc import Set as AbstractSet

PATIENCE = 0.02
"""Seconds that a connection is left for a process with fewer, which may be slow to wake while it computes."""
FULL_SECONDS = 1.0
"""Until the next try where the process or the system has no file descriptor left."""
FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
ABSENT = -1
"""Stands in `Shared` for a process that is not there."""
Shared = MutableSequence[int]
"""Open connections of each process, in memory that all of them see. Each writes its own place only."""


class Acceptor:
    """Of one process. `connections` are the ends of what is open, `protocol` makes the end of a new one."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        *,
        shared: Shared,
        place: int,
        connections: AbstractSet[asyncio.Protocol],
        protocol: Callable[[], asyncio.Protocol],
    ) -> None:
        self._sockets = sockets
        self._shared = shared
        self._place = place
        self._connections = connections
        self._protocol = protocol
        self._beginning: dict[asyncio.Task[object], asyncio.Protocol] = {}
        self._open = False

    def start(self) -> None:
        """On the running loop."""
        self._loop = asyncio.get_running_loop()
        self._open = True
        self.tell()
        for listening in self._sockets:
            listening.setblocking(False)
            self._loop.add_reader(listening, self._ready, listening)

    def stop(self) -> None:
        self._open = False
        self._shared[self._place] = ABSENT
        for listening in self._sockets:
            self._loop.remove_reader(listening)

    def tell(self) -> int:
        """The connections of this process, told to the others."""
        count = len(self._connections) + sum(end not in self._connections for end in self._beginning.values())
        self._shared[self._place] = count if self._open else ABSENT
        return count

    def _ready(self, listening: socket.socket) -> None:
        count = self.tell()
        if any(ABSENT < other < count for other in self._shared):
            self._pause(listening, PATIENCE)
        else:
            self._take(listening)

    def _take(self, listening: socket.socket) -> None:
        try:
            connection, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process has it, or it is gone
        except OSError as error:
            if error.errno not in FULL:
                raise
            self._pause(listening, FULL_SECONDS)
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        protocol = self._protocol()
        task = self._loop.create_task(self._begin(connection, protocol))
        self._beginning[task] = protocol
        task.add_done_callback(self._beginning.pop)
        self.tell()

    async def _begin(self, connection: socket.socket, protocol: asyncio.Protocol) -> object:
        return await self._loop.connect_accepted_socket(lambda: protocol, connection)

    def _pause(self, listening: socket.socket, seconds: float) -> None:
        self._loop.remove_reader(listening)
        self._loop.call_later(seconds, self._resume, listening)

    def _resume(self, listening: socket.socket) -> None:
        if self._open:
            self._loop.add_reader(listening, self._ready, listening)
            self._take(listening)
