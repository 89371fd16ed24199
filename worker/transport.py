"""What the HTTP client is told beside the request: how much of a refusal is read, and that dead peers are noticed."""

import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx2

KEPT_OF_REFUSAL = 2**20
MOST_OF_A_GET = 16 * 2**20  # /server_info and the list of models; more than this is no list
KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))  # seconds, seconds, probes


class Capped(httpx2.AsyncByteStream):
    """The beginning of a body, for replies that the client library would read to any length.

    A body that breaks off ends here as if it were whole; `whole` tells the difference.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self.whole = False
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        try:
            async for chunk in self._stream:
                yield chunk[:left]
                left -= len(chunk)
                if left < 0:
                    return
        except (httpx2.HTTPError, aiohttp.ClientError):
            return
        self.whole = True

    async def aclose(self) -> None:
        await self._stream.aclose()


async def cap(response: httpx2.Response) -> None:
    """Hook of the client: a refusal is read up to its first MiB, a list up to a size that no list has."""
    refused = response.status_code != 200
    if (refused or response.request.method == "GET") and isinstance(response.stream, httpx2.AsyncByteStream):
        capped = Capped(response.stream, KEPT_OF_REFUSAL if refused else MOST_OF_A_GET)
        response.stream = capped
        response.extensions["capped"] = capped  # the response forgets its stream once it is read


def is_whole(response: httpx2.Response) -> bool:
    """Whether what was read of a reply is all of it."""
    capped = response.extensions.get("capped")
    return not isinstance(capped, Capped) or capped.whole


def keep_alive(http_client: httpx2.AsyncClient, connections: int) -> None:
    """Let the system notice a peer that is gone without a word: answers take hours in which no byte is sent.

    The library's aiohttp transport takes no socket options, but it takes a function that makes its session.
    """
    transport: Any = http_client._transport  # noqa: SLF001 - there is no other way to its sockets

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=connections, ssl=transport.ssl_context, socket_factory=_socket)
        return aiohttp.ClientSession(connector=connector)

    transport.client = session


def _socket(address: Any) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        if hasattr(socket, name):  # not on every system
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
