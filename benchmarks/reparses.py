"""H. A reparse against reading, decompressing and JSON-decoding the same bodies; what it reads is as before."""

from pathlib import Path

import msgspec
import zstandard

from app.leasing.datasets import dataset_of
from app.responses.rereading import Reparse, reparse
from app.store.store import open_store
from benchmarks import cycle
from benchmarks.answered_store import answered_store
from benchmarks.figure import Figure
from benchmarks.library import sqlite3
from benchmarks.measuring import Meter, Spent, cpu_ratio, in_child, in_turn, median_cpu_s
from benchmarks.scale import Scale

ROUNDS = 3
MOST = 10_000  # bodies: four seconds a round, in the small store of exports


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """CPU a body on both sides."""
    bodies = min(scale.answers, MOST)
    db = answered_store(bodies)
    ours, raw = in_turn(ROUNDS, lambda: in_child(ours_in, db), lambda: in_child(raw_in, db))
    tenth = in_child(ours_in, answered_store(bodies // 10))
    sides = [1e6 * median_cpu_s(side) / bodies for side in (ours, raw)]
    peak = max(one.peak_bytes for one in ours)
    return [
        Figure(
            "H", f"reparse of {bodies:,} bodies of 16 KB, CPU against decoding them", cpu_ratio(ours, raw), 2.5,
            note="{:.0f} against {:.0f} us a body".format(*sides),
        ),
        Figure("H", "peak memory, against a tenth of the bodies", peak / tenth.peak_bytes, 1.1),
    ]  # fmt: skip


def ours_in(db: str) -> Spent:
    """Our reparse, without writing."""
    spent: Spent = cycle.run(_ours, db)  # type: ignore[assignment]
    return spent


async def _ours(db: str) -> Spent:
    async with open_store(db) as store:
        dataset = await dataset_of(store, "data")
        with Meter() as meter:
            report = await reparse(store, Reparse(dataset), lambda _place, _last: None)
    assert report.unchanged == report.bodies > 0
    return meter.spent()


def raw_in(db: str) -> Spent:
    """The reference."""
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    unzip = zstandard.ZstdDecompressor().decompress
    with Meter() as meter:
        for codec, raw in connection.execute("SELECT codec, raw FROM body"):
            msgspec.json.decode(unzip(raw) if codec == "zstd" else raw)
    connection.close()
    return meter.spent()
