"""Holds: reasons not to claim from a dataset. It is held while any stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.leasing import events, statements_people
from app.model.ids import DatasetId
from app.store.store import Store
from app.store.transaction import Tx


class HoldKind(StrEnum):
    """Who holds a dataset."""

    PERSON = "person"  # paused by a person
    GATE = "gate"  # the first answers were not captured
    ALARM = "alarm"  # the latest answers were not


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """One more reason to hold a dataset."""

    dataset: DatasetId
    kind: HoldKind
    reason: str


@dataclass(frozen=True, slots=True)
class LiftRequest:
    """The kinds of reasons to take back."""

    dataset: DatasetId
    kinds: tuple[HoldKind, ...] = tuple(HoldKind)


@dataclass(frozen=True, slots=True)
class StandingHold:
    """A reason that stands; `since_seq` tells it from a later one of the same kind."""

    name: str  # of the dataset
    kind: HoldKind
    reason: str
    since_seq: int


async def standing(store: Store) -> list[StandingHold]:
    """Every reason that stands now."""
    async with store.snapshot() as reads:
        rows = await reads.rows(statements_people.holds())
    return [StandingHold(row.name, HoldKind(row.kind), row.reason, row.since_seq) for row in rows]


async def hold(tx: Tx, requests: Sequence[HoldRequest]) -> list[bool]:
    """Whether each reason is new."""
    return [await _hold_one(tx, request) for request in requests]


async def _hold_one(tx: Tx, request: HoldRequest) -> bool:
    row = {
        "dataset_id": request.dataset, "kind": request.kind, "reason": request.reason,
        "since_ms": tx.now_ms, "since_seq": await tx.seq(),
    }  # fmt: skip
    new = bool(await tx.rows(statements_people.hold(), row))
    if new:
        await events.note(tx, "held", dataset=request.dataset, by=request.kind, reason=request.reason)
    return new


async def lift(tx: Tx, requests: Sequence[LiftRequest]) -> list[int]:
    """How many reasons each request took back."""
    return [await _lift_one(tx, request) for request in requests]


async def _lift_one(tx: Tx, request: LiftRequest) -> int:
    await tx.seq()
    lifted = await tx.run(statements_people.lift(), {"dataset": request.dataset, "kinds": list(request.kinds)})
    if lifted:
        await events.note(tx, "resumed", dataset=request.dataset, kinds=",".join(request.kinds))
    return lifted
