"""S. What a scrape of /metrics takes in a large store against a small one, and what its histogram costs an answer.

The histogram of latencies is kept by the trigger of a stored body. Its cost is the difference between completions with
the trigger as it is and with one that keeps no latency, on the way that a worker's answers take.
"""

import statistics
from functools import partial
from pathlib import Path

from app.progress.metric_facts import metric_facts
from app.progress.metric_text import metric_text
from app.store import triggers
from benchmarks import cycle, data
from benchmarks.figure import Figure
from benchmarks.large_store import large_store
from benchmarks.library import sqlite3
from benchmarks.measuring import Meter, Spent, in_child, in_turn
from benchmarks.scale import SMALL_STORE, Scale

SCRAPES = 50
BROUGHT = "response_brought"


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """A scrape, without HTTP; and an answer with and without its latency."""
    few = large_store(SMALL_STORE, SMALL_STORE * scale.held // scale.large_store)
    many = large_store(scale.large_store, scale.held)
    of_few, of_many = in_turn(scale.rounds, *(partial(in_child, scrapes_of, db) for db in (few, many)))
    with_it, without = in_turn(
        scale.rounds, *(partial(_completed, folder, scale.cycle_jobs, latency=kept) for kept in (True, False))
    )
    more = [1e6 * (a.cpu_s - b.cpu_s) / scale.cycle_jobs for a, b in zip(with_it, without, strict=True)]
    one = [1e6 * spent.cpu_s / scale.cycle_jobs for spent in with_it]
    return [
        Figure("S", f"a scrape at {scale.large_store:,} jobs, CPU", 1000 * _a_scrape(of_many), 50, "ms"),
        Figure("S", f"a scrape, against {SMALL_STORE:,} jobs", _a_scrape(of_many) / _a_scrape(of_few), 1.3),
        Figure(
            "S", "the latency of an answer, CPU", statistics.median(more), 20, "us",
            note=f"of {statistics.median(one):.0f} us an answer; rounds {min(more):.0f} to {max(more):.0f}",
        ),
    ]  # fmt: skip


def _a_scrape(taken: list[Spent]) -> float:
    return statistics.median(one.cpu_s for one in taken) / SCRAPES


def scrapes_of(db: str) -> Spent:
    """So many scrapes of one open store, the first of which does not count."""
    spent: Spent = cycle.run(_scrapes, Path(db))  # type: ignore[assignment]
    return spent


async def _scrapes(db: Path) -> Spent:
    async with cycle.opened(db) as at:
        metric_text(await metric_facts(at.store))
        with Meter() as meter:
            for _ in range(SCRAPES):
                metric_text(await metric_facts(at.store))
    return meter.spent()


def _completed(folder: Path, jobs: int, *, latency: bool) -> Spent:
    db = folder / "answers.db"
    for old in folder.glob(f"{db.name}*"):
        old.unlink()
    cycle.run(cycle.fill, db, 0, 0)
    if not latency:
        _forget_latencies(db)
    return in_child(completions_in, db, jobs)


def _forget_latencies(db: Path) -> None:
    connection = sqlite3.connect(db, isolation_level=None)
    ((sql,),) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (BROUGHT,)).fetchall()
    kept = triggers._latency("NEW", 1)
    assert kept in sql
    connection.execute(f"DROP TRIGGER {BROUGHT}")
    connection.execute(sql.replace(kept, ""))
    connection.close()


def completions_in(db: str, jobs: int) -> Spent:
    """Complete so many jobs in batches, 8 KB each; only that counts."""
    spent: Spent = cycle.run(_complete, Path(db), jobs)  # type: ignore[assignment]
    return spent


async def _complete(db: Path, jobs: int) -> Spent:
    answers = [cycle.answer(number, packed=False) for number in range(jobs)]
    async with cycle.opened(db) as at:
        for batch in data.batches(range(jobs), cycle.BATCH):
            await at.enqueue([cycle.row(number) for number in batch])
        leases = [await at.claim(len(batch)) for batch in data.batches(answers, cycle.BATCH)]
        with Meter() as meter:
            for some, batch in zip(leases, data.batches(answers, cycle.BATCH), strict=True):
                await at.complete(some, batch)
    return meter.spent()
