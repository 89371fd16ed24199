"""The server: what may be bound, where it listens, and its end within three seconds of a signal."""

import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

import uvicorn

from app.model.errors import Refused, Unavailable, UsageError
from app.model.exits import Exit
from app.store.store import Store
from app.web.application import Site, create_app
from app.web.door import Door
from app.web.hosts import Hosts, is_loopback

GRACE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 takes a free one."""

    host: str
    port: int

    def url(self, port: int) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{port}"


def refuse_open(address: Address, token: str | None) -> None:
    """Without a token only this machine may be let in."""
    if token is None and not is_loopback(address.host):
        raise Refused(
            f"--host {address.host} lets other machines in, and without a token they could read everything. "
            "Leave --no-auth out, or bind 127.0.0.1 and use an SSH tunnel."
        )


def listen(address: Address) -> socket.socket:
    """A listening socket."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except socket.gaierror as error:
        raise UsageError(f"--host {address.host} is no address of this machine ({error.strerror}).") from error
    except OSError as error:
        raise Unavailable(
            f"{address.host}:{address.port} cannot be bound ({error.strerror}). Choose another port with --port."
        ) from error


@dataclass(frozen=True, slots=True)
class Serving:
    """What a server is started with. `token` is None where everybody on this machine may come in."""

    address: Address
    token: str | None
    allowed_hosts: frozenset[str] = frozenset()


async def serve(store: Store, asked: Serving, on_ready: Callable[[str, Door | None], None]) -> Exit:
    """Serve until a signal comes; what it means as an exit code. `on_ready` is told the address once it answers."""
    address, token = asked.address, asked.token
    refuse_open(address, token)
    with listen(address) as listener:
        port = listener.getsockname()[1]
        door = None if token is None else Door(token, f"thinkledger_{store.store_id[:8]}", store.now_ms)
        app = create_app(Site(store, Hosts(address.host, asked.allowed_hosts), door))
        server = _Server(
            uvicorn.Config(
                app,
                log_config=None, log_level=logging.WARNING, access_log=False, lifespan="off", ws="none",
                proxy_headers=False, server_header=False, timeout_graceful_shutdown=GRACE_SECONDS,
            ),
            lambda: on_ready(address.url(port), door),
        )  # fmt: skip
        await server.serve(sockets=[listener])
    return server.ended_by


class _Server(uvicorn.Server):
    """Tells when it answers, and remembers the signal that ended it instead of raising it once more."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self.ended_by = Exit.DONE

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Stop taking requests; a second signal waits for none of them."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self.ended_by = Exit.INTERRUPTED if sig == signal.SIGINT else Exit.TERMINATED
