"""D. A claim of 64 jobs: in a large store against a small one, and what it writes.

The store's time is that of its statements in SQLite alone; beside it stands the whole claim with the driver, whose
constant part would hide a slow statement.
"""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from app.leasing.release import release
from app.model.lease import Lease
from benchmarks import cycle, statements
from benchmarks.figure import Figure
from benchmarks.large_store import large_store
from benchmarks.library import sqlite3
from benchmarks.scale import SMALL_STORE, Scale
from benchmarks.wal import Wal

_HOLD = "INSERT INTO hold SELECT id, 'person', 'measured', 0, 0 FROM dataset WHERE name = 'held'"
_LET_GO = "DELETE FROM hold"


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Claims in both stores in turn, with the first dataset open and held."""
    small = large_store(SMALL_STORE, SMALL_STORE * scale.held // scale.large_store)
    large = large_store(scale.large_store, scale.held)
    figures: list[Figure] = []
    for held in (False, True):
        for db in (small, large):
            _run(db, _LET_GO, *([_HOLD] if held else []))
        figures += cycle.run(_compare, small, large, scale, held)  # type: ignore[misc]
    for db in (small, large):
        _run(db, _LET_GO)
    return figures


def _run(db: Path, *sql: str) -> None:
    connection = sqlite3.connect(db, isolation_level=None)
    for statement in sql:
        connection.execute(statement)
    connection.close()


async def _compare(small: Path, large: Path, scale: Scale, held: bool) -> list[Figure]:
    said = f"{scale.large_store:,} rows against {SMALL_STORE:,}"
    name = f"claim of 64, {said}" + (f", {scale.held:,} held jobs in front" if held else "")
    async with cycle.opened(small) as few, cycle.opened(large) as many:
        alone = [statements.Replayer(small), statements.Replayer(large)]
        ran = [await _statements(at) for at in (few, many)]
        of_few, of_many = statements.in_turn(scale.claims, *zip(alone, ran, strict=True))
        for replayer in alone:
            replayer.close()
        taken = [(await _claim(few), await _claim(many)) for _ in range(scale.claims)]
        written = await _wal_of_a_claim(many, large)
    whole = [statistics.median(side) for side in zip(*taken, strict=True)]
    return [
        Figure("D", f"{name}: store", of_many / of_few, 1.3, note=_both(of_many, of_few)),
        Figure("D", f"{name}: whole", whole[1] / whole[0], 1.3, note=_both(whole[1], whole[0])),
        Figure("D", "WAL a claim" + (", held" if held else ""), written / 1024, 40, "KB"),
    ]


def _both(many_s: float, few_s: float) -> str:
    return f"{1000 * many_s:.2f} against {1000 * few_s:.2f} ms of CPU"


async def _statements(at: cycle.Cycle) -> list[statements.Ran]:
    with statements.recorded(at.store) as ran:
        leases = await at.claim()
    await _give_back(at, leases)
    assert len(leases) == cycle.BATCH
    return ran


async def _claim(at: cycle.Cycle) -> float:
    begun = time.process_time()
    leases = await at.claim()
    taken = time.process_time() - begun
    await _give_back(at, leases)
    return taken


async def _wal_of_a_claim(at: cycle.Cycle, db: Path) -> float:
    written = []
    with Wal(db) as wal:
        for _ in range(10):
            before = wal.bytes()
            leases = await at.claim()
            written.append(wal.bytes() - before)
            await _give_back(at, leases)
    return statistics.median(written)


async def _give_back(at: cycle.Cycle, leases: Sequence[Lease]) -> None:
    async with anyio.create_task_group() as tasks:
        for lease in leases:
            tasks.start_soon(at.store.write, release, lease)
