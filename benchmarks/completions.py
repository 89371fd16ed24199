"""I. What a completed row writes to the WAL beyond its body and its texts, and how long a batch holds the write lock.

The hold is that of the longer of the two transactions of a batch of 64 (bodies, then readings), in the thread in which
all of it happens from BEGIN to COMMIT, and without fsync: how long that takes is the disk's figure.
"""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.store import engines
from benchmarks import cycle, data
from benchmarks.figure import Figure
from benchmarks.measuring import Meter, Spent, in_child
from benchmarks.scale import Scale
from benchmarks.wal import Wal


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Bytes and milliseconds of the same completions."""
    beyond, held_ms = in_child(ours_in, folder / "t.db", scale.cycle_jobs).result
    return [
        Figure("I", "completion: WAL beyond the stored columns, a row", beyond / 1024, 2, "KB"),
        Figure("I", "completion: hold of the write lock a batch, median", held_ms, 5, "ms"),
    ]


def ours_in(db: str, jobs: int) -> Spent:
    """Complete so many jobs, 8 KB each."""
    engines._WRITER_PRAGMAS = (*engines._WRITER_PRAGMAS, "PRAGMA synchronous=OFF")
    spent: Spent = cycle.run(_ours, Path(db), jobs)  # type: ignore[assignment]
    return spent


async def _ours(db: Path, jobs: int) -> Spent:
    answers = [cycle.answer(number, packed=False) for number in range(jobs)]
    async with cycle.opened(db) as at:
        await at.enqueue([cycle.row(number) for number in range(jobs)])
        leases = [await at.claim(len(batch)) for batch in data.batches(answers, cycle.BATCH)]
        batches = list(zip(leases, data.batches(answers, cycle.BATCH), strict=True))
        with Wal(db) as wal, Meter() as meter:
            before, done = wal.bytes(), batches[: len(batches) // 2]
            for batch in done:
                await at.complete(*batch)
            written = wal.bytes() - before
        stored = await _stored(at)
        holds = _watch(at.store._writer)
        longest = []
        for batch in batches[len(done) :]:  # without the snapshot that lets the WAL grow, which a commit then looks at
            holds.clear()
            await at.complete(*batch)
            longest.append(max(holds))
    answered = sum(len(some) for some, _ in done)
    return meter.spent([(written - stored) / answered, 1000 * statistics.median(longest)])


async def _stored(at: cycle.Cycle) -> int:
    """Bytes of all bodies and texts."""
    async with at.store.snapshot() as reads:
        raw = await reads.value(_text("SELECT sum(length(raw)) FROM body"))
        texts = await reads.value(_text("SELECT sum(octet_length(reasoning) + octet_length(content)) FROM reading"))
    return int(raw + texts)


def _text(sql: str) -> Any:
    from sqlalchemy import text

    return text(sql)


def _watch(writer: Any) -> list[float]:
    """Seconds of each transaction from now on."""
    holds: list[float] = []
    transact = writer._transact

    def timed(group: Sequence[Any]) -> None:
        begun = time.perf_counter()
        transact(group)
        holds.append(time.perf_counter() - begun)

    writer._transact = timed
    return holds
