"""One job taken out, by the operation that takes out a selection."""

from collections.abc import Sequence

from sqlalchemy import select

from app.leasing.cancelling import Selection, _Page, _pages
from app.model.ids import JobId
from app.store.tables import JOB
from app.store.transaction import Tx


async def cancel(tx: Tx, jobs: Sequence[JobId]) -> list[bool]:
    """Whether each job was taken out; a done one is not."""
    return [await _cancel_one(tx, job) for job in jobs]


async def _cancel_one(tx: Tx, job: JobId) -> bool:
    row = await tx.first(select(JOB.c.dataset_id, JOB.c.ordinal).where(JOB.c.id == job))
    assert row is not None
    page = _Page(row.dataset_id, Selection(everything=True), row.ordinal - 1, row.ordinal)
    return await _pages(tx, [page]) == [1]
