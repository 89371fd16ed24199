"""What the HTTP client does below the requests: dead peers, long refusals, and a process without descriptors."""

import errno
import socket
from typing import Any

import aiohttp
import anyio
import pytest

from app.model.errors import UsageError
from app.model.lease import Cause
from worker import open_files, transport
from worker.endpoint import distinct, normal_url, translate
from worker.slot import scrub_part


def test_a_connection_asks_the_system_to_notice_a_peer_that_is_gone() -> None:
    async def work() -> int:
        made: list[socket.socket] = []

        class Kept:
            ssl_context = True
            client: Any = None

        kept = Kept()
        holder: Any = type("Client", (), {"_transport": kept})()
        transport.keep_alive(holder, 4)
        original = transport._socket

        def remember(address: Any) -> socket.socket:
            made.append(original(address))
            return made[-1]

        async def answer(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                await stream.receive()
                await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(listener.serve, answer)
            port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - no Django here
            async with kept.client() as session:
                session.connector._socket_factory = remember
                async with session.get(f"http://127.0.0.1:{port}/"):
                    found = made[0].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            tasks.cancel_scope.cancel()
        return found

    assert anyio.run(work) != 0


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_shortage_of_descriptors_does_not_look_like_a_dead_server(number: int) -> None:
    key: Any = aiohttp.client_reqrep.ConnectionKey("h", 1, False, True, None, None, None)
    error = aiohttp.ClientConnectorError(key, OSError(number, "Too many open files"))
    error.__cause__ = OSError(number, "Too many open files")
    assert translate(error, b"").cause is Cause.OUT_OF_FILES
    refused = aiohttp.ClientConnectorError(key, OSError(errno.ECONNREFUSED, "refused"))
    assert translate(refused, b"").cause is Cause.UNREACHABLE


def test_more_connections_than_files_are_refused_with_a_number_that_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files.resource, "getrlimit", lambda _: (256, 1024))
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(open_files.resource, "setrlimit", lambda _, limits: raised.append(limits))
    open_files.make_room(900, 1)
    assert raised == [(1024, 1024)]
    with pytest.raises(UsageError, match="--concurrency 480 or less"):
        open_files.make_room(900, 2)
    open_files.make_room(480, 2)


def test_a_server_that_is_spelled_in_several_ways_is_one() -> None:
    spelled = ["http://h:1", "http://h:1/v1", "h:1/", "http://H:1/v1/", "http://h:2"]
    assert distinct(spelled) == ["http://h:1/v1", "http://h:2/v1"]
    assert distinct(["https://h", "https://h:443/v1", "http://h:80", "http://h"]) == ["https://h/v1", "http://h/v1"]


@pytest.mark.parametrize("url", ["http://h:70000", "http://h:x"])
def test_a_port_that_is_none_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="--endpoint"):
        normal_url(url)


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (b"no key", b"no key"),
        (b"a sk-canary-1 b", b"a [secret] b"),
        (b"a sk-canary-", b"a [secret]"),
        (b"a sk-c", b"a [secret]"),
        (b"desk", b"desk"),
        (b"sk-canary-1sk-canary-1sk-ca", b"[secret][secret][secret]"),
    ],
)
def test_a_beginning_of_a_body_shows_neither_our_key_nor_its_beginning(body: bytes, kept: bytes) -> None:
    assert scrub_part(body, "sk-canary-1") == kept
