"""E. What the progress page and `status` ask: in a large store against a small one."""

from pathlib import Path

from app.progress.gathering import overview
from benchmarks import cycle, statements
from benchmarks.figure import Figure
from benchmarks.large_store import large_store
from benchmarks.scale import SMALL_STORE, Scale


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """The statements of one overview, in SQLite alone."""
    few = large_store(SMALL_STORE, SMALL_STORE * scale.held // scale.large_store)
    many = large_store(scale.large_store, scale.held)
    sides = [(statements.Replayer(db), cycle.run(_statements, db)) for db in (few, many)]
    of_few, of_many = statements.in_turn(scale.claims * 5, *sides)  # type: ignore[arg-type]
    for replayer, _ in sides:
        replayer.close()
    said = f"{1000 * of_many:.2f} against {1000 * of_few:.2f} ms"
    return [
        Figure("E", f"overview, store time at {scale.large_store:,} jobs", 1000 * of_many, 2, "ms"),
        Figure("E", f"overview, against {SMALL_STORE:,} jobs", of_many / of_few, 1.3, note=said),
    ]


async def _statements(db: Path) -> list[statements.Ran]:
    async with cycle.opened(db) as at:
        with statements.recorded(at.store) as ran:
            await overview(at.store)
    return ran
