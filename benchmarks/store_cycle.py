"""C. The way of a job through the store, against raw sqlite3 in batches of 64 with the same durability.

Both sides store prompt (2 KB), body (8 KB), reasoning and content. Reading the body is the parser's figure, so the
readings are made before. `compressed`: ours also hashes and compresses the body, the reference still does not. A first
batch on both sides is not measured: building statements is the start's figure (K).
"""

from collections.abc import Sequence
from pathlib import Path

from app.intake.rows import Row
from benchmarks import cycle, data, raw_store
from benchmarks.figure import Figure
from benchmarks.measuring import Meter, Spent, cpu_ratio, in_child, in_turn, median_cpu_s, put_out_of_sight
from benchmarks.scale import Scale


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """CPU a job on both sides."""
    places = (folder / f"{number}" for number in range(3 * scale.rounds))
    ours, compressed, raw = in_turn(
        scale.rounds,
        lambda: in_child(ours_in, next(places), scale.cycle_jobs, True),
        lambda: in_child(ours_in, next(places), scale.cycle_jobs, False),
        lambda: in_child(raw_in, next(places), scale.cycle_jobs),
    )

    def figure(name: str, taken: list[Spent], target: float) -> Figure:
        sides = [1e6 * median_cpu_s(side) / scale.cycle_jobs for side in (taken, raw)]
        return Figure("C", name, cpu_ratio(taken, raw), target, note="{:.0f} against {:.0f} us a job".format(*sides))

    return [
        figure("enqueue + claim + complete, CPU against raw sqlite3", ours, 2.5),
        figure("the same with compression and hashes", compressed, 5),
    ]


def ours_in(folder: str, jobs: int, plain: bool) -> Spent:
    """One cycle of ours, in a new store."""
    Path(folder).mkdir()
    spent: Spent = cycle.run(_ours, Path(folder) / "t.db", jobs, plain)
    return spent


async def _ours(db: Path, jobs: int, plain: bool) -> Spent:
    every = range(jobs + cycle.BATCH)
    rows = [cycle.row(number) for number in every]
    answers = [cycle.answer(number, packed=plain) for number in every]
    async with cycle.opened(db) as at:
        await _through(at, rows[jobs:], answers[jobs:])
        put_out_of_sight()
        with Meter() as meter:
            await _through(at, rows[:jobs], answers[:jobs])
    return meter.spent()


async def _through(at: cycle.Cycle, rows: Sequence[Row], answers: Sequence[cycle.Answer]) -> None:
    for batch in data.batches(rows, cycle.BATCH):
        await at.enqueue(batch)
    for batch in data.batches(answers, cycle.BATCH):
        await at.complete(await at.claim(len(batch)), batch)


def raw_in(folder: str, jobs: int) -> Spent:
    """One cycle of the reference."""
    Path(folder).mkdir()
    every = range(jobs + cycle.BATCH)
    prompts = [data.messages(number) for number in every]
    answers = [_parts(number) for number in every]
    store = raw_store.RawStore(Path(folder) / "t.db")
    raw_store.cycle(store, prompts[jobs:], answers[jobs:])
    put_out_of_sight()
    with Meter() as meter:
        raw_store.cycle(store, prompts[:jobs], answers[:jobs])
    store.close()
    return meter.spent()


def _parts(number: int) -> tuple[bytes, str, str]:
    one = cycle.answer(number, packed=True)
    assert one.reading.reasoning is not None
    assert one.reading.content is not None
    return one.body, one.reading.reasoning, one.reading.content
