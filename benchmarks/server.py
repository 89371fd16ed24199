"""A PostgreSQL server to measure on, with durable commits; what it spent, and what its clients waited for."""

import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncpg

from benchmarks.measuring import cpu_s_of
from tests.support import postgres

_LOOK_S = 0.01
_DURABLE = {
    "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "shared_buffers": "512MB",
    "max_wal_size": "8GB", "checkpoint_timeout": "30min",
}  # fmt: skip
# In a transaction that is open, of one of the hosts: what it waits for, or nothing.
_NOW = """SELECT coalesce(wait_event_type, 'running'), count(*) FROM pg_stat_activity
    WHERE application_name = 'thinkledger' AND xact_start IS NOT NULL AND datname = $1 GROUP BY 1"""


@contextmanager
def measured_server() -> Iterator[postgres.Server]:
    """A server of our own until the end; its settings are a usual server's, not a test's."""
    found = postgres.binaries()
    if found is None:
        raise RuntimeError("no PostgreSQL was found on this machine")
    folder = Path(tempfile.mkdtemp(prefix="bench-postgres-"))  # the server's user may enter it
    running = postgres.start(found, folder, postgres.free_port(), **_DURABLE)
    try:
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a server has done so far, or between two looks."""

    cpu_s: float
    wal_bytes: int
    disk_bytes: int

    def since(self, before: "Cost") -> "Cost":
        return Cost(self.cpu_s - before.cpu_s, self.wal_bytes - before.wal_bytes, self.disk_bytes - before.disk_bytes)


def cost(server: postgres.Server, database: str) -> Cost:
    """Everything so far. The CPU time of connections that have ended is the parent's by then."""
    ((wal, disk),) = server.run(
        f"SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS BIGINT), pg_database_size('{database}')"
    )
    pids = [server.process.pid, *_children(server.process.pid)]
    return Cost(sum(map(cpu_s_of, pids)) + _ended_children_s(server.process.pid), int(wal), int(disk))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _ended_children_s(pid: int) -> float:
    import os

    numbers = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(numbers[13]) + int(numbers[14])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Waits:
    """`with Waits(server, database) as waits:` looks a hundred times a second what open transactions wait for."""

    server: postgres.Server
    database: str
    seen: Counter[str] = field(default_factory=Counter)

    def share(self, kind: str) -> float:
        """The share of the time of open transactions that went on waiting for that."""
        return self.seen[kind] / max(1, self.seen.total())

    def __enter__(self) -> Self:
        self._ending = threading.Event()
        self._thread = threading.Thread(target=lambda: postgres.aside(self._look()), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._thread.join()

    async def _look(self) -> None:
        import asyncio

        connection: Any = await asyncpg.connect(self.server.url("postgres"))
        while not self._ending.is_set():
            for waits_for, count in await connection.fetch(_NOW, self.database):
                self.seen[waits_for] += count
            await asyncio.sleep(_LOOK_S)
        await connection.close()
