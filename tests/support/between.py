"""A wire between a client and a PostgreSQL server that can be cut at a chosen message, on either side of its answer.

It reads no more of the protocol than where a message ends (PostgreSQL's documentation, "Message Formats"): a type byte
and a length, but for the first one of a connection, which has no type.
"""

import asyncio
import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

_PIECE = 1 << 16
_ENCRYPT = (80877103).to_bytes(4, "big")  # SSLRequest


class Cut(Enum):
    """Where the wire is cut."""

    BEFORE = "before the server gets it"
    AFTER = "after the server has answered, before the client hears it"


@dataclass
class Wire:
    """A listening port; what arrives there goes to the server's. `cut_at` is asked at each message of a client."""

    port: int
    _loop: asyncio.AbstractEventLoop
    cut_at: Callable[[bytes, bytes], Cut | None] = lambda _kind, _body: None
    cuts: int = 0
    away: bool = False  # nobody gets through
    bytes_a_second: float = math.inf  # what clients say gets through no faster
    _open: set["Pair"] = field(default_factory=set)

    def cut(self) -> None:
        """Cut every connection now, and let nobody through from now on."""
        self.away = True
        self._loop.call_soon_threadsafe(self._cut)

    def cut_for(self, seconds: float) -> None:
        """Let nobody through for so long; called where the wire decides about a message."""
        self.away = True
        self._loop.call_later(seconds, self.mend)

    def mend(self) -> None:
        """Let everybody through again."""
        self.away = False

    def _cut(self) -> None:
        for pair in list(self._open):
            pair.writer.transport.abort()

    async def carry(self, to_port: int, client: "Pair") -> None:
        """One connection, until either side ends or it is cut."""
        if self.away:
            client.writer.transport.abort()
            return
        server = Pair(*await asyncio.open_connection("127.0.0.1", to_port))
        self._open |= {client, server}
        try:
            await self._carry(client, server)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the task is this connection's alone
        finally:
            self._open -= {client, server}
            for pair in (client, server):
                pair.writer.transport.abort()

    async def _carry(self, client: "Pair", server: "Pair") -> None:
        await server.send(await _first(client))
        back = asyncio.create_task(_copy(server.reader, client.writer))
        try:
            while True:
                kind, message = await _next(client.reader)
                match self.cut_at(kind, message[5:]):
                    case None:
                        await self._let_through(message, server)
                    case Cut.BEFORE:
                        self.cuts += 1
                        return
                    case Cut.AFTER:
                        self.cuts += 1
                        back.cancel()
                        with contextlib.suppress(asyncio.CancelledError):
                            await back
                        await server.send(message)
                        await _until_ready(server.reader)
                        return
        finally:
            back.cancel()

    async def _let_through(self, message: bytes, server: "Pair") -> None:
        for begin in range(0, len(message), _PIECE):
            piece = message[begin : begin + _PIECE]
            await server.send(piece)
            await asyncio.sleep(len(piece) / self.bytes_a_second)  # a slow line is the fault itself


@dataclass(frozen=True)
class Pair:
    """Both directions of a socket."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, message: bytes) -> None:
        self.writer.write(message)
        await self.writer.drain()


async def _first(client: Pair) -> bytes:
    """The start-up message; whoever asks for encryption before it is told that there is none."""
    while True:
        length = await client.reader.readexactly(4)
        body = await client.reader.readexactly(int.from_bytes(length, "big") - 4)
        if body != _ENCRYPT:
            return length + body
        await client.send(b"N")


async def _next(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(int.from_bytes(head[1:], "big") - 4)


async def _until_ready(reader: asyncio.StreamReader) -> None:
    """The server has done what it was sent: it is ready for a query."""
    while (await _next(reader))[0] != b"Z":
        pass


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.transport.abort()


@contextmanager
def wire(to_port: int) -> Iterator[Wire]:
    """A wire to the server at that port of this host, carried by a thread of its own."""
    listening = threading.Event()
    made: list[Wire] = []
    loop = asyncio.new_event_loop()
    ending = asyncio.Event()

    async def serve() -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await made[0].carry(to_port, Pair(reader, writer))

        served = await asyncio.start_server(accept, "127.0.0.1", 0)
        made.append(Wire(served.sockets[0].getsockname()[1], loop))
        listening.set()
        async with served:
            await ending.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        listening.wait()
        yield made[0]
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join()
        loop.close()
