"""Release: a lease goes back unasked (drain, hold, endpoint down). It counts nowhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.leasing import statements
from app.model.ids import JobId, WorkerId
from app.model.lease import Lease
from app.store.batch import bind_rows
from app.store.beside import beside_others
from app.store.transaction import Tx


@beside_others
async def release(tx: Tx, leases: Sequence[Lease]) -> list[bool]:
    """Whether each lease was still ours to give back."""
    params = {"leases": bind_rows([(lease.job, lease.attempt, lease.worker, lease.epoch) for lease in leases])}
    released = {int(row.id) for row in await tx.rows(statements.release(), params)}
    if released:
        await tx.seq()
    return [lease.job in released for lease in leases]


@dataclass(frozen=True, slots=True)
class InHand:
    """What a worker works at: every lease that it knows of."""

    worker: WorkerId
    jobs: frozenset[JobId]


@beside_others
async def release_unheld(tx: Tx, workers: Sequence[InHand]) -> list[int]:
    """How many leases each worker had without knowing: of a claim that was committed and could not be answered."""
    released = []
    for one in workers:
        params = {"worker": one.worker, "held": bind_rows([(job,) for job in sorted(one.jobs)])}
        released.append(await tx.run(statements.release_unheld(), params))
    if any(released):
        await tx.seq()
    return released
