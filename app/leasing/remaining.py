"""What is left to do, for a run that ends when nothing is."""

from dataclasses import dataclass

from app.leasing import statements, statements_people
from app.leasing.holds import HoldKind
from app.store.store import Store


@dataclass(frozen=True, slots=True)
class Remaining:
    """Jobs that are not done, over the wanted datasets, and how many of these a gate or an alarm holds."""

    open: int  # leased by anybody, or ready or waiting in a dataset that nothing holds
    failed: int
    held_by_gate: int  # ready or waiting under a gate's or an alarm's hold
    held_by_person: int
    gated: int = 0  # datasets under a gate's or an alarm's hold, finished ones too


async def remaining(store: Store, wanted: frozenset[str] | None) -> Remaining:
    """Count from the counters; all zero means that every job is done or cancelled."""
    async with store.snapshot() as reads:
        rows = await reads.rows(statements.work_left())
        holds = await reads.rows(statements_people.holds())
    by_person = {row.dataset_id for row in holds if row.kind == HoldKind.PERSON}
    by_gate = {row.dataset_id for row in holds if row.kind != HoldKind.PERSON}
    gated = len({row.dataset_id for row in holds if row.kind != HoldKind.PERSON and _wants(wanted, row.name)})
    counts = {"open": 0, "failed": 0, "held_by_gate": 0, "held_by_person": 0}
    for row in rows:
        if _wants(wanted, row.name):
            counts[_kind(row.metric, row.id in by_gate, row.id in by_person)] += row.n
    return Remaining(**counts, gated=gated)


def _wants(wanted: frozenset[str] | None, name: str) -> bool:
    return wanted is None or name in wanted


def _kind(metric: str, gated: bool, paused: bool) -> str:
    if metric == "state:failed":
        return "failed"
    if metric == "state:leased":
        return "open"
    return "held_by_gate" if gated else "held_by_person" if paused else "open"
