"""The process: a listening socket, uvicorn around the application, one line when it is ready, and a quick end."""

import asyncio
import logging
import socket
from types import FrameType

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from worker.simulator.asgi import Application
from worker.simulator.config import Config
from worker.simulator.stats import Stats

BACKLOG = 4096
KEEP_ALIVE_SECONDS = 600  # longer than a client keeps an idle connection, or every pause could end in a reset
STOP_SECONDS = 0.5
ANSWER_SECONDS = 0.05  # so that whoever orders an outage still hears that it comes


def serve(config: Config) -> None:
    """Serve until SIGTERM or SIGINT; OSError when the address cannot be had. Prints one line to stdout when ready."""
    listener = _listen(config)
    host, port = listener.getsockname()[:2]
    application = Application(
        config,
        port,
        cut_all=lambda: server.cut_all(),
        go_away=lambda seconds: server.go_away(seconds, listener),
    )
    logging.getLogger("uvicorn.error").addFilter(_unless_intended)
    server = _Server(
        uvicorn.Config(
            application,
            http=_counting(application.stats),
            loop="auto",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level=logging.WARNING,
            access_log=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        ),
        f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}",
    )
    server.run(sockets=[listener])


def _listen(config: Config) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    return socket.create_server((config.host, config.port), family=family, backlog=BACKLOG)


def _counting(stats: Stats) -> type[HttpToolsProtocol]:
    class Counting(HttpToolsProtocol):
        """Counts the connections that were opened."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            stats.connections += 1
            super().connection_made(transport)

    return Counting


def _unless_intended(record: logging.LogRecord) -> bool:
    """An answer that ends in the middle is what the persona `disconnect` is for."""
    return "without completing response" not in record.getMessage()


class _Server(uvicorn.Server):
    """Says where it listens, and does not wait for open requests when it is told to go."""

    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url
        self._away: asyncio.Task[None] | None = None

    def go_away(self, seconds: float, listener: socket.socket) -> None:
        """Refuse and cut everything for so long, and be back under the same address with all counts kept."""
        if self._away is None or self._away.done():
            self._away = asyncio.get_running_loop().create_task(self._be_away(seconds, listener))

    async def _be_away(self, seconds: float, listener: socket.socket) -> None:
        await asyncio.sleep(ANSWER_SECONDS)
        family, address = listener.family, self.servers[0].sockets[0].getsockname()
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        bound = socket.socket(family)  # bound and not listening: connections are refused, and the port stays ours
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        await asyncio.sleep(seconds)
        if not self.should_exit:
            await super().startup([bound])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"simulator listening on {self._url}", flush=True)  # noqa: T201 - the one line that starters wait for

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Go, with exit status 0: uvicorn's own handler would raise the signal once more at the end."""
        self.should_exit = True

    def cut_all(self) -> None:
        """Cut every connection, as a server does that dies; new ones are taken."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Cut what is open, as a host that goes away does; uvicorn would wait for the last answer."""
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        self.cut_all()
        if self.server_state.tasks:
            await asyncio.wait(set(self.server_state.tasks), timeout=STOP_SECONDS)
