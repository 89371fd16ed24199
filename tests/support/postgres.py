"""A PostgreSQL server for tests: binaries of the machine, a folder of its own, and a fresh database for each store.

It is started when the first test wants it and stopped with the test process. A server refuses to run as root; there it
runs as `nobody`.
"""

import asyncio
import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from app.store.store import open_store

OWNER = "thinkledger"
REQUIRED = "POSTGRES_TESTS_REQUIRED"
_QUICK = {  # what a test may lose with the machine
    "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "shared_buffers": "64MB", "jit": "off",
    "max_connections": "150", "unix_socket_directories": "", "listen_addresses": "127.0.0.1",
    "deadlock_timeout": "200ms",
}  # fmt: skip


def binaries() -> Path | None:
    """The folder with `initdb` and `postgres`, the newest of the machine."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


@dataclass(eq=False)
class Server:
    """A running server; `url_of` gives each store that a test names a database of its own."""

    folder: Path
    bin: Path
    port: int
    process: subprocess.Popen[bytes]
    urls: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)
    settings: dict[str, str] = field(default_factory=dict)  # beside those of every server of a test

    def url(self, database: str) -> str:
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}"

    def empty(self) -> str:
        """A new database without tables."""
        name = f"d{next(self.numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def url_of(self, path: str) -> str:
        """The database that stands for the file of that name, with an empty store."""
        return self.urls[path] if path in self.urls else self.copy(path, _with_schema(self))

    def copy(self, path: str, database: str) -> str:
        """A new database for the file of that name, with the store that another one holds while nobody is in it."""
        if path in self.urls:
            self.drop(path)
        name = f"d{next(self.numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {database} {_quickly_copied(self)}")
        self.run(f"UPDATE meta_row SET store_id = md5('{name}')", database=name)  # else all were one store
        self.urls[path] = self.url(name)
        return self.urls[path]

    def drop(self, path: str) -> None:
        """Forget the store of that name; each takes 9 MB of disk."""
        name = self.urls.pop(path).rsplit("/", 1)[1]
        self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, *statements: str, database: str = "postgres") -> list[Any]:
        """Run statements as the server's owner, each by itself; the rows of the last."""
        return aside(_run(self.url(database), statements))

    def restart(self, how: signal.Signals) -> None:
        """Stop it as PostgreSQL's signals say, SIGINT fast and SIGQUIT as in a crash, and start it again."""
        self.process.send_signal(how)
        self.process.wait()
        self.process = start(self.bin, self.folder, self.port, **self.settings).process

    def let_in(self, network: str) -> None:
        """Let users in from a network too, without a password."""
        with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {network} trust\n")
        self.run("SELECT pg_reload_conf()")

    def stop(self) -> None:
        """End it at once, and remove what it wrote."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def aside(work: Coroutine[Any, Any, Any]) -> Any:
    """Run to its end in a thread, whether or not an event loop runs in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _run(url: str, statements: tuple[str, ...]) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        rows: list[Any] = []
        for statement in statements:
            rows = await connection.fetch(statement)
        return rows
    finally:
        await connection.close()


class Rows(list[tuple[Any, ...]]):
    """What a statement gave, asked as a cursor of SQLite's module is."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        return self[0] if self else None


@dataclass(frozen=True)
class Plainly:
    """One connection for tests that speak to SQLite's module: its placeholders, and nothing is awaited."""

    portal: BlockingPortal
    connection: Any

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        if isinstance(values, Mapping):
            names = list(values)
            sql = re.sub(r":([a-z_]+)", lambda found: f"${names.index(found[1]) + 1}", sql)
            bound = list(values.values())
        else:
            numbers = count(1)
            sql, bound = re.sub(r"\?", lambda _: f"${next(numbers)}", sql), list(values)
        return Rows(tuple(row) for row in self.portal.call(self.connection.fetch, sql, *bound))


@contextmanager
def plainly(url: str) -> Iterator[Plainly]:
    """Such a connection, in a loop of a thread of its own: a loop may run in this one."""
    with start_blocking_portal() as portal:
        connection = portal.call(asyncpg.connect, url)
        try:
            yield Plainly(portal, connection)
        finally:
            portal.call(connection.close)


@cache
def _with_schema(server: Server) -> str:
    server.run("CREATE DATABASE with_schema")
    aside(_open(server.url("with_schema")))
    return "with_schema"


@cache
def _quickly_copied(server: Server) -> str:
    """How a database is copied as files, which takes a quarter of the time where nothing is synced."""
    ((version,),) = server.run("SELECT current_setting('server_version_num')::int / 10000")
    return "STRATEGY FILE_COPY" if version >= 15 else ""  # 14 knows no other way


async def _open(url: str) -> None:
    async with open_store(url, create=True):
        pass


@cache
def server() -> Server:
    """The server of this test process; without binaries the test is skipped, unless the environment says it may not."""
    found = binaries()
    if found is None:
        assert REQUIRED not in os.environ, "no PostgreSQL was found on this machine"
        pytest.skip("no PostgreSQL was found on this machine")
    folder = Path(tempfile.mkdtemp(prefix="thinkledger-postgres-"))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")  # of this process: locks and spools of its stores
    started = start(found, folder, free_port())
    atexit.register(started.stop)
    return started


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(found: Path, folder: Path, port: int, **settings: str) -> Server:
    """Start a server on what lies in the folder, or make that first; `settings` in place of a test's usual ones."""
    data = folder / "data"
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        as_user = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        shutil.chown(folder, "nobody", "nogroup")
    if not data.exists():
        made = ["-D", str(data), "-U", OWNER, "--auth=trust", "--no-sync", "--locale=C.UTF-8", "--encoding=UTF8"]
        subprocess.run([found / "initdb", *made], check=True, capture_output=True, cwd=folder, **as_user)
    said = [word for name, value in (_QUICK | settings).items() for word in ("-c", f"{name}={value}")]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [found / "postgres", "-D", str(data), "-p", str(port), *said],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder, **as_user,
        )  # fmt: skip
    running = Server(folder, found, port, process, settings=settings)
    aside(_until_ready(running))
    return running


async def _until_ready(running: Server) -> None:
    while True:
        assert running.process.poll() is None, (running.folder / "log").read_text()
        try:
            await (await asyncpg.connect(running.url("postgres"))).close()
        except (OSError, asyncpg.PostgresError):
            await asyncio.sleep(0.02)
        else:
            return
