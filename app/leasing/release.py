"""Release: a lease goes back unasked (drain, hold, endpoint down). It counts nowhere."""

from collections.abc import Sequence

from app.leasing import statements
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
