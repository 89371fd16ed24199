"""PG2. Answers of four hosts against one on a PostgreSQL server, what keeps them from each other, and what one costs.

Four hosts give more than one until the machine's cores are full, and where all run on one machine two are full with one
host already. So beside the ratio stand the share of time in which transactions waited for each other's locks, which
tells of the store alone, and how much of the machine was busy.
"""

import os
import statistics
import time
from pathlib import Path

from benchmarks import cycle, hosts
from benchmarks.figure import Figure
from benchmarks.measuring import Spent
from benchmarks.scale import Scale
from benchmarks.server import Cost, Waits, cost, measured_server
from tests.support.postgres import Server

HOSTS = 4


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """One host and four in turn, each time in a new database."""
    each = scale.cycle_jobs // HOSTS
    with measured_server() as server:
        rounds = [(_round(server, folder, 1, each), _round(server, folder, HOSTS, each)) for _ in range(3)]
        shared = _round(server, folder, HOSTS, each, model_servers=1)
    ratios = [four.a_second / one.a_second for one, four in rounds]
    fours = [four for _, four in rounds]
    jobs = HOSTS * each
    busy = statistics.median(four.busy for four in fours)
    pace = "{1:,.0f} against {0:,.0f} answers/s; {2:.0%} of {3} cores busy".format(
        *(statistics.median(one.a_second for one in side) for side in zip(*rounds, strict=True)), busy, os.cpu_count()
    )
    return [
        Figure("PG2", "answers of 4 hosts against 1", statistics.median(ratios), 2.5, at_least=True, note=pace),
        Figure("PG2", "waiting for locks, of transactions of 4 hosts", _of(fours, "locked"), 10, "%"),
        Figure("PG2", "the same with one model server for all", shared.locked, 40, "%"),
        Figure("PG2", "CPU of the server an answer", 1000 * _of(fours, "cpu_s") / jobs, 2, "ms"),
        Figure("PG2", "CPU of a host an answer", 1000 * _of(fours, "host_cpu_s") / jobs, 4, "ms"),
        Figure("PG2", "WAL an answer of 8 KB", _of(fours, "wal_bytes") / jobs / 1024, 64, "KB"),
        Figure("PG2", "disk an answer with its prompt of 2 KB", _of(fours, "disk_bytes") / jobs / 1024, 64, "KB"),
    ]


class _Round:
    """What a number of hosts gave and cost."""

    def __init__(self, jobs: int, spent: list[Spent], server: Cost, disk_bytes: int, waits: Waits, busy: float) -> None:
        self.a_second = jobs / max(one.wall_s for one in spent)
        self.cpu_s, self.wal_bytes, self.disk_bytes = server.cpu_s, server.wal_bytes, disk_bytes
        self.host_cpu_s = sum(one.cpu_s for one in spent)
        self.locked = 100 * waits.share("Lock")
        self.busy = busy


def _of(rounds: list[_Round], name: str) -> float:
    return statistics.median(float(getattr(one, name)) for one in rounds)


def _round(server: Server, folder: Path, count: int, each: int, model_servers: int = HOSTS) -> _Round:
    url = server.empty()
    database = url.rpartition("/")[2]
    empty = cost(server, database)
    cycle.run(hosts.fill, url, count * each)
    server.run("VACUUM ANALYZE", database=database)
    before, idle_s, begun = cost(server, database), _idle_s(), time.monotonic()
    with Waits(server, database) as waits:
        spent = hosts.together(hosts.completions_of, count, folder, url, each, model_servers)
    busy = 1 - (_idle_s() - idle_s) / (time.monotonic() - begun) / (os.cpu_count() or 1)
    after = cost(server, database)
    return _Round(count * each, spent, after.since(before), after.since(empty).disk_bytes, waits, busy)


def _idle_s() -> float:
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(ticks[4]) / os.sysconf("SC_CLK_TCK")
