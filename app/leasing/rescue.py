"""Rescue: what a dead worker held is offered again; what it had stored and not read is read by the rescuer."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.leasing import events, statements
from app.leasing.settle import stand_in
from app.model.ids import JobId, ResponseId, WorkerId
from app.model.states import JobState
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class RescueRequest:
    """`dead` is known to be dead: its lock is free, or it has not beaten for a whole TTL."""

    dead: WorkerId
    rescuer: WorkerId


@dataclass(frozen=True, slots=True)
class Rescued:
    """What came of a rescue: jobs offered again, jobs given up, and bodies that the rescuer must read."""

    jobs: int
    failed: int
    unread: tuple[ResponseId, ...]


async def rescue(tx: Tx, requests: Sequence[RescueRequest]) -> list[Rescued]:
    """Of several rescuers of one worker, the first finds something and the others nothing."""
    return [await _rescue_one(tx, request) for request in requests]


async def _rescue_one(tx: Tx, request: RescueRequest) -> Rescued:
    await tx.seq()
    declared = await tx.run(
        statements.set_worker_state(), {"worker": request.dead, "to_state": "dead", "at_ms": tx.now_ms}
    )
    jobs = await tx.rows(statements.rescue(), {"dead": request.dead, "now_ms": tx.now_ms})
    failed = await _stand_ins(tx, [JobId(job.id) for job in jobs if job.state == JobState.FAILED])
    unread = await tx.rows(statements.adopt_unread(), {"dead": request.dead, "rescuer": request.rescuer})
    if declared:
        await events.note(tx, "worker_dead", worker=request.dead, jobs=len(jobs), unread=len(unread))
    return Rescued(len(jobs), failed, tuple(ResponseId(row.response_id) for row in unread))


async def rescue_overdue(tx: Tx, requests: Sequence[None]) -> list[int]:
    """Take back leases past their hard deadline; how many, for each request (all of them for the first)."""
    jobs = await tx.rows(statements.rescue_overdue(), {"now_ms": tx.now_ms})
    if jobs:
        await tx.seq()
        await _stand_ins(tx, [JobId(job.id) for job in jobs if job.state == JobState.FAILED])
    return [len(jobs), *([0] * (len(requests) - 1))]


async def _stand_ins(tx: Tx, jobs: Sequence[JobId]) -> int:
    """Of the jobs that have just failed, those for which nothing stands in."""
    return len([job for job in jobs if not await stand_in(tx, job)])
