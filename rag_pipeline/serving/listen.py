"""The sockets of a server, bound and listening before there is anyone to answer."""

import errno
import socket

from rag_pipeline.errors import InvalidSettings

BACKLOG = 2048
"""Connections that may wait to be accepted; the system may allow fewer."""
# Names such as localhost have an IPv6 address also where the system has no IPv6.
ABSENT = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


def listen(host: str, port: int) -> list[socket.socket]:
    """One socket for each address of the host; port 0 = a free one each.

    They listen already, because only that refuses a second server on the same port. Raises InvalidSettings.
    """
    opened: list[socket.socket] = []
    absent: OSError | None = None
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((entry[0], entry[4]) for entry in found):
            try:
                opened.append(socket.create_server(address, family=family, backlog=BACKLOG))
            except OSError as error:
                if error.errno not in ABSENT:
                    raise
                absent = error
        if absent is not None and not opened:
            raise absent
    except OSError as error:
        for each in opened:
            each.close()
        reason = error.strerror or error
        raise InvalidSettings(
            f"can't listen on {host} port {port}: {reason}; stop what uses it, or choose another --port or --host"
        ) from error
    return opened
