"""The server: what may be bound, where it listens, and its end within three seconds of a signal."""

import asyncio
import logging
import os
import signal
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import anyio
import uvicorn
from anyio.abc import TaskGroup

from app.gates.evaluating import keep_evaluating
from app.gates.telling import Herald, Listener
from app.gates.webhook import Webhook
from app.leasing import locks
from app.model.errors import Refused, ThinkledgerError, Unavailable, UsageError
from app.model.exits import Exit
from app.model.limits import BACKUP_OLD_MS
from app.store.store import Store
from app.web.application import create_app
from app.web.door import Door
from app.web.hosts import Hosts, is_loopback
from app.web.shield import App
from app.web.site import Site, Work

GRACE_SECONDS = 2
CUT_SECONDS = 0.5  # for what was cut to notice

log = logging.getLogger("thinkledger.web")


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 takes a free one. With `uds` it is a socket file instead, for its owner alone."""

    host: str
    port: int
    uds: Path | None = None

    def url(self, port: int) -> str:
        if self.uds is not None:
            return "http://localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{port}"


@dataclass(frozen=True, slots=True)
class Serving:
    """What a server is started with. `token` is None where everybody on this machine may come in."""

    address: Address
    token: str | None
    allowed_hosts: frozenset[str] = frozenset()
    trusted_origins: frozenset[str] = frozenset()
    root: str = ""
    read_only: bool = False
    backup_ms: int | None = BACKUP_OLD_MS  # how long answers may be in no backup before an alarm says so
    webhook: Webhook | None = None  # who is told of alarms
    listener: Listener | None = None  # who says them in this process; None: nobody


@dataclass(slots=True)
class Running:
    """A server that answers."""

    url: str  # with what stands before its paths
    door: Door | None
    server: "_Server"

    @property
    def login(self) -> str:
        """The address that logs in, once; without a door, that of the Overview."""
        return f"{self.url}/" if self.door is None else f"{self.url}/login#{self.door.code}"

    def stop(self) -> None:
        """Take no more requests, and end within the grace."""
        self.server.should_exit = True


def refuse_open(address: Address, token: str | None) -> None:
    """Without a token only this machine may be let in."""
    if token is None and address.uds is None and not is_loopback(address.host):
        raise Refused(
            f"--host {address.host} lets other machines in, and without a token they could read everything. "
            "Leave --no-auth out, or bind 127.0.0.1 and use an SSH tunnel."
        )


def listen(address: Address) -> socket.socket:
    """A listening socket."""
    if address.uds is not None:
        return _listen_at(address.uds)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except socket.gaierror as error:
        raise UsageError(f"--host {address.host} is no address of this machine ({error.strerror}).") from error
    except OSError as error:
        raise Unavailable(
            f"{address.host}:{address.port} cannot be bound ({error.strerror}). Choose another port with --port."
        ) from error


def _listen_at(path: Path) -> socket.socket:
    """A socket file. One that a dead server left is replaced; anything else that lies there is left alone."""
    if path.is_socket() and not _answers(path):
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise Unavailable(f"--uds {path} cannot be bound ({error.strerror or error}).") from error
    finally:
        os.umask(before)
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == 0


async def serve(store: Store, asked: Serving, on_ready: Callable[[Running], None], *, signals: bool = True) -> Exit:
    """Serve until a signal comes; what it means as an exit code. `on_ready` is told the address once it answers.

    Without `signals` they are left to whoever called, who ends it with `Running.stop`.
    """
    address, token = asked.address, asked.token
    refuse_open(address, token)
    logging.getLogger("uvicorn.error").addFilter(_unless_cut)
    with locks.server(store.place.workers, uuid.uuid4().hex), listen(address) as listener:
        port = 0 if address.uds is not None else listener.getsockname()[1]
        door = None if token is None else Door(token, f"thinkledger_{store.store_id[:8]}", store.now_ms)
        async with anyio.create_task_group() as work:
            hosts = Hosts("localhost" if address.uds is not None else address.host, asked.allowed_hosts)
            site = Site(
                store, hosts, door, read_only=asked.read_only, root=asked.root, trusted=asked.trusted_origins,
                background=lambda run: _start(work, run),
            )  # fmt: skip
            server = _Server(_config(create_app(site)), signals=signals)
            running = Running(address.url(port) + asked.root, door, server)
            server.on_ready = lambda: on_ready(running)
            if not asked.read_only:
                work.start_soon(_look_after_alarms, store, asked)
            await server.serve(sockets=[listener])
            work.cancel_scope.cancel()
    if address.uds is not None:
        address.uds.unlink(missing_ok=True)
    return server.ended_by


async def _look_after_alarms(store: Store, asked: Serving) -> None:
    """A store that is damaged is no reason to go: the pages say why they cannot be read, and who does not look."""
    try:
        async with anyio.create_task_group() as work:
            work.start_soon(keep_evaluating, store, f"serve {os.getpid()}", _not_evaluated, asked.backup_ms)
            if asked.listener is not None:
                work.start_soon(Herald(store, asked.webhook, asked.listener).run)
    except* ThinkledgerError as errors:
        for error in errors.exceptions:
            _not_evaluated(f"no more: {error}")


def _not_evaluated(reason: str) -> None:
    log.warning("alarms are not evaluated here: %s", reason, extra={"event": "not_evaluated"})


def _start(work: TaskGroup, run: Work) -> None:
    work.start_soon(run)


def _unless_cut(record: logging.LogRecord) -> bool:
    """A request that was cut at the server's end is no trouble that a person could look after."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, asyncio.CancelledError)


def _config(app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None, log_level=logging.WARNING, access_log=False, lifespan="off", ws="none",
        proxy_headers=False, server_header=False, timeout_graceful_shutdown=GRACE_SECONDS,
    )  # fmt: skip


class _Server(uvicorn.Server):
    """Tells when it answers, and remembers the signal that ended it instead of raising it once more."""

    def __init__(self, config: uvicorn.Config, *, signals: bool) -> None:
        super().__init__(config)
        self._signals = signals
        self.on_ready: Callable[[], None] = lambda: None
        self.ended_by = Exit.DONE

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if not self._signals:
            yield
            return
        with super().capture_signals():
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's. What it leaves open when its patience ends, or at a second signal, is cut and waited for.

        Else a request would go on, or begin, while the store is being closed, and be found pending after the loop.
        """
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        left = set(self.server_state.tasks)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=CUT_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Stop taking requests; a second signal waits for none of them."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self.ended_by = Exit.INTERRUPTED if sig == signal.SIGINT else Exit.TERMINATED
