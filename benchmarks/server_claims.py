"""PG1. A claim of 64 by four hosts at once in a large store on a PostgreSQL server, beside an export and without it.

Where all of it runs on one machine, an export takes a core from hosts and server too. So a third side is measured: the
same claims beside a process that counts to no end and asks nobody.
"""

import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import hosts
from benchmarks.figure import Figure
from benchmarks.measuring import Spent
from benchmarks.scale import Scale
from benchmarks.server import Waits, measured_server
from benchmarks.server_store import PATTERN, fill
from tests.support.forks import COMMAND, environment
from tests.support.postgres import Server

HOSTS = 4
ROUNDS = 3


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Claims in turn: nothing beside them, a process that only counts, an export."""
    rows, answered = (number // PATTERN * PATTERN for number in (scale.server_rows, scale.server_answers))
    with measured_server() as server:
        url = server.empty()
        fill(server, url, rows, answered)
        database = url.rpartition("/")[2]

        waits = Waits(server, database)

        def claims() -> list[Spent]:
            return hosts.together(hosts.claims_of, HOSTS, folder, url, scale.claims, meanwhile=waits)

        alone, counted, exported = [], [], []
        for _ in range(ROUNDS):
            alone.append(claims())
            with _beside([sys.executable, "-c", "while True: pass"], folder):
                counted.append(claims())
            with _beside(_export(url), folder) as export:
                exported.append(claims())
                assert export.poll() is None, "the export ended before the claims did"
        written = _pages(server, database)
    said = f"{rows:,} rows, an export of {answered:,}"
    ms = " / ".join(f"{1000 * _median(side):.0f}" for side in (alone, counted, exported))
    note = f"{ms} ms alone / beside a loop / beside the export"
    name = f"claim of 64 by {HOSTS} hosts, {said}: against"
    return [
        Figure("PG1", f"{name} alone", _median(exported) / _median(alone), 3, note=note),
        Figure("PG1", f"{name} a loop beside it", _median(exported) / _median(counted), 1.5, note=note),
        Figure("PG1", "waiting for locks", 100 * waits.share("Lock"), 5, "%", note=f"{written}; {waits.most()}"),
    ]  # fmt: skip


def _median(rounds: Sequence[Sequence[Spent]]) -> float:
    return statistics.median(seconds for hosts_ in rounds for one in hosts_ for seconds in one.result)


def _export(url: str) -> list[str]:
    return [*COMMAND, "--db", url, "export", "--dataset", "data", "--allow-incomplete", "--output", "-"]


@contextmanager
def _beside(command: Sequence[str], folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process as long as this lasts."""
    with (folder / "beside.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _pages(server: Server, database: str) -> str:
    ((size, jobs),) = server.run(
        f"SELECT pg_database_size('{database}'), pg_total_relation_size('job')", database=database
    )
    return f"database of {size / 2**20:,.0f} MiB, jobs with indexes {jobs / 2**20:,.0f}"
