import socket
from typing import Any

import pytest

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.serving.listen import listen


def close(sockets: list[socket.socket]) -> None:
    for each in sockets:
        each.close()


def test_it_listens_and_nobody_else_can() -> None:
    first = listen("127.0.0.1", 0)
    port = first[0].getsockname()[1]
    socket.create_connection(("127.0.0.1", port), 5).close()
    with pytest.raises(
        InvalidSettings, match=rf"can't listen on 127\.0\.0\.1 port {port}: Address already in use.*--port"
    ):
        listen("127.0.0.1", port)
    close(first)
    close(listen("127.0.0.1", port))


def test_every_address_of_a_name_once_and_those_that_are_absent_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def addresses(*found: tuple[int, Any]) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(f, 1, 6, "", address) for f, address in found])

    here, other = ((socket.AF_INET, (f"127.0.0.{n}", 0)) for n in (1, 2))
    addresses(here, here, other)
    opened = listen("twice", 0)
    assert [each.getsockname()[0] for each in opened] == ["127.0.0.1", "127.0.0.2"]
    close(opened)
    absent = (socket.AF_INET, ("192.0.2.1", 0))  # RFC 5737: nobody's
    addresses(absent, here)
    opened = listen("half", 0)
    assert [each.getsockname()[0] for each in opened] == ["127.0.0.1"]
    close(opened)
    addresses(absent)
    with pytest.raises(InvalidSettings, match="can't listen on none port 0: Cannot assign requested address"):
        listen("none", 0)


def test_what_was_opened_is_closed_where_the_next_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.2", 0)) as taken, socket.socket() as probe:
        port = taken.getsockname()[1]
        found = [(socket.AF_INET, 1, 6, "", (host, port)) for host in ("127.0.0.1", "127.0.0.2")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        with pytest.raises(InvalidSettings, match="Address already in use"):
            listen("both", port)
        probe.bind(("127.0.0.1", port))


def test_a_host_that_is_unknown() -> None:
    with pytest.raises(InvalidSettings, match=r"can't listen on \[nowhere\] port 1: "):
        listen("[nowhere]", 1)
