"""J. How late a busy worker's event loop is, and what its store takes, while answers come at fifty a second.

The worker runs in a child with a clock beside it that wants to be woken every 5 ms. A loop that does nothing else runs
at the same time: what it is late is the machine's doing. The store's share is the CPU time of all threads but that of
the loop: with bodies of this size nothing else leaves it.
"""

import asyncio
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio

from benchmarks import cycle, running
from benchmarks.figure import Figure
from benchmarks.library import sqlite3
from benchmarks.measuring import Meter, Spent, in_child
from benchmarks.scale import Scale
from tests.support.simulator import Simulator
from worker.log import Log
from worker.supervisor import WorkerSettings, run_worker

ANSWERS_A_SECOND = 50
EVERY_S = 0.005


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Delay and share of one run."""
    mean_s = scale.in_flight / ANSWERS_A_SECOND
    jobs = int((mean_s * 2 + scale.seconds) * ANSWERS_A_SECOND) + 2 * scale.in_flight
    product = running.imported(folder / "store", running.prompts_file(folder, jobs))
    latency = f"uniform:{mean_s / 2},{mean_s * 3 / 2}"
    with Simulator("--latency", latency, "--answer-bytes", "8192") as simulator, ThreadPoolExecutor() as beside:
        idle = beside.submit(in_child, idling, 2 * mean_s + scale.seconds)
        spent = in_child(watched, product.db, simulator.url, scale.in_flight, mean_s, scale.seconds)
    delay_ms, store_share, answers = spent.result
    said = f"{answers:.0f} answers/s, the process took {spent.cpu_s / spent.wall_s:.0%} of a core"
    of_idle = f"a loop that does nothing: {idle.result().result:.1f} ms"
    return [
        Figure(
            "J", f"event loop with {scale.in_flight} in flight, delay at the 99th percentile", delay_ms, 20, "ms",
            note=of_idle,
        ),
        Figure("J", "store's threads, of a core", 100 * store_share, 1, "%", note=said),
    ]  # fmt: skip


def idling(seconds: float) -> Spent:
    """The reference."""
    with Meter() as meter:
        delays = cycle.run(_delays, seconds)
    return meter.spent(_late_ms(delays))  # type: ignore[arg-type]


def watched(db: str, url: str, in_flight: int, warm_s: float, seconds: float) -> Spent:
    """A worker with a clock beside it."""
    spent: Spent = cycle.run(_watched, db, url, in_flight, warm_s, seconds)  # type: ignore[assignment]
    return spent


async def _watched(db: str, url: str, in_flight: int, warm_s: float, seconds: float) -> Spent:
    settings = WorkerSettings(db, (url,), concurrency=in_flight, preflight=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_worker, settings, Log(quiet=True))
        await anyio.sleep(2 * warm_s)  # the first ones all came at once
        before = _done(db)
        store = _store_s()
        with Meter() as meter:
            delays = await _delays(seconds)
        store = (_store_s() - store) / seconds
        answers = (_done(db) - before) / seconds
        tasks.cancel_scope.cancel()
    return meter.spent([_late_ms(delays), store, answers])


async def _delays(seconds: float) -> list[float]:
    """How much later than asked the loop came back, each time."""
    delays, end_s = [], time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end_s:
        await asyncio.sleep(EVERY_S)
        delays.append(time.perf_counter() - begun - EVERY_S)
    return delays


def _late_ms(delays: list[float]) -> float:
    """What 99 of 100 are below."""
    return 1000 * statistics.quantiles(delays, n=100)[-1]


def _store_s() -> float:
    """CPU seconds of all threads but the loop's, which this one is."""
    return time.process_time() - time.thread_time()


def _done(db: str) -> int:
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    done = connection.execute("SELECT count(*) FROM job WHERE state = 'done'").fetchone()[0]
    connection.close()
    return int(done)
