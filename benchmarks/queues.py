"""C2. The store against queues of others, at equal durability: CPU a job, and jobs a second against huey's.

Ours takes what a worker takes: batches of 64, bodies compressed, hashed and kept beside their readings. What others
commit a job ours commits a batch, so the ratio of jobs a second is that of the disk: the note says what one fsync took.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.measuring import ROOT, Spent, cpu_ratio, in_child, in_turn, median_cpu_s
from benchmarks.peers import python_with
from benchmarks.scale import Scale
from benchmarks.store_cycle import ours_in
from tests.support import postgres
from tests.support.forks import environment

ROUNDS = 3
FSYNCS = 50
PACKAGES = ("huey==3.5.4", "litequeue==0.9", "persist-queue==1.1.0")
TARGETS = {"huey": 0.85, "litequeue": 0.33, "persist-queue": 0.1}
SERVER_PACKAGES = ("procrastinate==3.10.0", "psycopg-binary==3.3.9")
ON_SERVER = 0.05  # the target against procrastinate
_DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}  # what a server commits by default


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Every queue in turn, ours among them."""
    python = python_with("queues", *PACKAGES)
    if python is None:
        return []
    places = (folder / f"{number}" for number in count())

    def of_others(name: str) -> Callable[[], Spent]:
        return lambda: _other(python, name, next(places), scale.queue_jobs)

    with _server() as on_server:
        ours, *others = in_turn(
            ROUNDS,
            lambda: in_child(ours_in, next(places), scale.queue_jobs, False),
            *(of_others(name) for name in TARGETS),
            *([] if on_server is None else [lambda: on_server(next(places), scale.queue_jobs)]),
        )
    figures = []
    targets = TARGETS | ({} if on_server is None else {"procrastinate": ON_SERVER})
    for (name, target), other in zip(targets.items(), others, strict=True):
        sides = [1e6 * median_cpu_s(side) / scale.queue_jobs for side in (ours, other)]
        note = "{:.0f} against {:.0f} us a job".format(*sides)
        figures.append(Figure("C2", f"CPU a job against {name}", cpu_ratio(ours, other), target, note=note))
    faster = statistics.median(other.wall_s / one.wall_s for one, other in zip(ours, others[0], strict=True))
    speeds = [scale.queue_jobs / statistics.median(one.wall_s for one in side) for side in (ours, others[0])]
    note = "{:.0f} against {:.0f} jobs a second, {:.2f} ms an fsync".format(*speeds, _fsync_ms(folder))
    return [*figures, Figure("C2", "jobs a second against huey's", faster, 15, at_least=True, note=note)]


@contextmanager
def _server() -> Iterator[Callable[[Path, int], Spent] | None]:
    """Measures procrastinate on a durable PostgreSQL server of its own; None where there is none."""
    found, python = postgres.binaries(), python_with("procrastinate", *SERVER_PACKAGES)
    if found is None or python is None:
        print("no PostgreSQL server, so procrastinate is not compared", file=sys.stderr)
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="bench-postgres-", ignore_cleanup_errors=True) as place:
        server = postgres.start(found, Path(place), postgres.free_port(), **_DURABLE)
        try:
            yield lambda folder, jobs: _other(
                python, "procrastinate", folder, jobs, server.empty(), str(server.process.pid)
            )
        finally:
            server.stop()


def _fsync_ms(folder: Path) -> float:
    """The median of what it takes to bring a page to this disk."""
    taken = []
    with (folder / "page").open("wb", buffering=0) as file:
        for _ in range(FSYNCS):
            file.write(bytes(4096))
            begun = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(1000 * (time.perf_counter() - begun))
    return statistics.median(taken)


def _other(python: Path, name: str, folder: Path, jobs: int, *server: str) -> Spent:
    command = [str(python), "-m", "benchmarks.other_queues", name, str(folder), str(jobs), *server]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
    return Spent(**json.loads(done.stdout.splitlines()[-1]))
