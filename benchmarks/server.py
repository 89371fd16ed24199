"""A PostgreSQL server to measure on, with durable commits; what it spent, and what its clients waited for."""

import os
import shutil
import tempfile
import threading
import time
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
_NOW = """SELECT coalesce(wait_event_type, 'running'), CASE wait_event_type WHEN 'Lock' THEN
        wait_event || ' in ' || substr(query, 1, 40) ELSE '' END, count(*) FROM pg_stat_activity
    WHERE application_name = 'thinkledger' AND xact_start IS NOT NULL AND datname = $1 GROUP BY 1, 2"""


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
    return Cost(sum(map(_cpu_s_of, pids)) + _ended_children_s(server.process.pid), int(wal), int(disk))


def _cpu_s_of(pid: int) -> float:
    try:
        return cpu_s_of(pid)
    except FileNotFoundError:
        return 0.0  # it ended since it was listed, and its time is its parent's


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _idle_s() -> float:
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(ticks[4]) / os.sysconf("SC_CLK_TCK")


def _ended_children_s(pid: int) -> float:
    numbers = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(numbers[13]) + int(numbers[14])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Waits:
    """`with Waits(server, database) as waits:` looks a hundred times a second what open transactions wait for.

    After it `cost` is what the server did meanwhile, `busy` the share of the machine that was at work.
    """

    server: postgres.Server
    database: str
    seen: Counter[str] = field(default_factory=Counter)
    locks: Counter[str] = field(default_factory=Counter)  # what was waited for, in which statement

    cost: Cost = Cost(0, 0, 0)
    busy: float = 0.0

    def share(self, kind: str) -> float:
        """The share of the time of open transactions that went on waiting for that."""
        return self.seen[kind] / max(1, self.seen.total())

    def most(self) -> str:
        """The lock that was waited for most."""
        return ", ".join(f"{what}: {count}" for what, count in self.locks.most_common(3))

    def __enter__(self) -> Self:
        self._before, self._idle_s, self._begun_s = cost(self.server, self.database), _idle_s(), time.monotonic()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=lambda: postgres.aside(self._look()), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._thread.join()
        wall_s = time.monotonic() - self._begun_s
        self.busy = 1 - (_idle_s() - self._idle_s) / wall_s / (os.cpu_count() or 1)
        self.cost = cost(self.server, self.database).since(self._before)

    async def _look(self) -> None:
        import asyncio

        connection: Any = await asyncpg.connect(self.server.url("postgres"))
        while not self._ending.is_set():
            for waits_for, what, count in await connection.fetch(_NOW, self.database):
                self.seen[waits_for] += count
                if what:
                    self.locks[what] += count
            await asyncio.sleep(_LOOK_S)
        await connection.close()
