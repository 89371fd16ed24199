"""PG2. Answers of four hosts against one on a PostgreSQL server, what keeps them from each other, and what one costs.

Four hosts give more than one until the machine's cores are full, and where all run on one machine two are full with one
host already. So beside the ratio stand the share of time in which transactions waited for each other's locks, which
tells of the store alone, and how much of the machine was busy.
"""

import os
import statistics
from pathlib import Path

from benchmarks import cycle, hosts
from benchmarks.figure import Figure
from benchmarks.measuring import Spent
from benchmarks.scale import Scale
from benchmarks.server import Waits, cost, measured_server
from tests.support.postgres import Server

HOSTS = 4
FULL = 0.9  # of the cores busy: more hosts on this machine give no more, so what one leaves of it is the target


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """One host and four in turn, each time in a new database."""
    each = scale.cycle_jobs // HOSTS
    with measured_server() as server:
        rounds = [(_round(server, folder, 1, each), _round(server, folder, HOSTS, each)) for _ in range(3)]
        shared = _round(server, folder, HOSTS, each, model_servers=1)
    ratios = [four.a_second / one.a_second for one, four in rounds]
    fours = [four for _, four in rounds]
    jobs = HOSTS * each
    alone, together = (statistics.median(one.busy for one in side) for side in zip(*rounds, strict=True))
    pace = "{1:,.0f} against {0:,.0f} answers/s; {3:.0%} against {2:.0%} of {4} cores busy".format(
        *(statistics.median(one.a_second for one in side) for side in zip(*rounds, strict=True)),
        alone, together, os.cpu_count(),
    )  # fmt: skip
    target = min(2.5, FULL / alone)
    return [
        Figure("PG2", "answers of 4 hosts against 1", statistics.median(ratios), target, at_least=True, note=pace),
        Figure("PG2", "waiting for locks, of transactions", _of(fours, "locked"), 10, "%", note=fours[-1].locks),
        Figure("PG2", "the same with one model server for all", shared.locked, 40, "%", note=shared.locks),
        Figure("PG2", "CPU of the server an answer", 1000 * _of(fours, "cpu_s") / jobs, 2, "ms"),
        Figure("PG2", "CPU of a host an answer", 1000 * _of(fours, "host_cpu_s") / jobs, 4, "ms"),
        Figure("PG2", "WAL an answer of 8 KB", _of(fours, "wal_bytes") / jobs / 1024, 64, "KB"),
        Figure("PG2", "disk an answer with its prompt of 2 KB", _of(fours, "disk_bytes") / jobs / 1024, 64, "KB"),
    ]


class _Round:
    """What a number of hosts gave and cost."""

    def __init__(self, jobs: int, spent: list[Spent], seen: Waits, disk_bytes: int) -> None:
        self.a_second = jobs / max(one.wall_s for one in spent)
        self.cpu_s, self.wal_bytes, self.disk_bytes = seen.cost.cpu_s, seen.cost.wal_bytes, disk_bytes
        self.host_cpu_s = sum(one.cpu_s for one in spent)
        self.locked, self.locks, self.busy = 100 * seen.share("Lock"), seen.most(), seen.busy


def _of(rounds: list[_Round], name: str) -> float:
    return statistics.median(float(getattr(one, name)) for one in rounds)


def _round(server: Server, folder: Path, count: int, each: int, model_servers: int = HOSTS) -> _Round:
    """So many answers a host, after a first batch of each that is not measured."""
    url = server.empty()
    database = url.rpartition("/")[2]
    empty = cost(server, database)
    prompts = count * (each + cycle.BATCH)
    cycle.run(hosts.fill, url, prompts)
    server.run("VACUUM ANALYZE", database=database)
    with_prompts = cost(server, database)
    waits = Waits(server, database)
    arguments = (url, each, model_servers)
    spent = hosts.together(hosts.completions_of, count, folder, *arguments, meanwhile=waits)
    a_prompt = with_prompts.since(empty).disk_bytes / prompts
    return _Round(count * each, spent, waits, waits.cost.disk_bytes + round(a_prompt * count * each))
