"""One job taken out, by the statements that take out a selection."""

from collections.abc import Sequence

from sqlalchemy import select

from app.leasing import statements_people
from app.leasing.cancelling import Selection
from app.model.ids import JobId
from app.store.batch import bind_rows
from app.store.tables import JOB
from app.store.transaction import Tx


async def cancel(tx: Tx, jobs: Sequence[JobId]) -> list[bool]:
    """Whether each job was taken out; a done one is not."""
    return [await _cancel_one(tx, job) for job in jobs]


async def _cancel_one(tx: Tx, job: JobId) -> bool:
    row = await tx.first(select(JOB.c.dataset_id, JOB.c.ordinal).where(JOB.c.id == job))
    assert row is not None
    page = Selection(everything=True).params(row.dataset_id) | {"after": row.ordinal - 1, "until": row.ordinal}
    moved = await tx.rows(statements_people.cancel_chosen().where(JOB.c.id == job), page)
    if moved:
        superseded = {"jobs": bind_rows([(job,)]), "at_seq": await tx.seq()}
        await tx.run(statements_people.supersede_answers(), superseded)
    return bool(moved)
