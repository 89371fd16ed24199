"""Claim: a worker takes ready jobs, one dataset at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.leasing import statements
from app.model.ids import DatasetId, JobId, WorkerId
from app.model.lease import Lease
from app.store.batch import bind_rows
from app.store.store import Store
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """How many jobs a worker can take, and from where."""

    worker: WorkerId
    epoch: int
    slots: int
    deadline_ms: int  # wall clock; a live worker may lose a lease from then on
    wanted: frozenset[str] | None = None  # dataset names; None: every dataset


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked for one job."""

    sample_id: str
    replica: int
    messages: str  # JSON list
    tools: str | None  # JSON list
    params: str | None  # JSON of the row's own settings
    config: str  # JSON of the dataset's settings
    job_params: str | None = None  # JSON of settings that a retry gave this job
    held: bool = False  # a hold came between the claim and this look


async def claim(tx: Tx, requests: Sequence[ClaimRequest]) -> list[list[Lease]]:
    """Leases for each request, lowest rank first; none from a held dataset, none for a worker that is not live."""
    if await tx.run(statements.wake_due(), {"now_ms": tx.now_ms}):
        await tx.seq()
    return [await _claim_for(tx, request) for request in requests]


async def _claim_for(tx: Tx, request: ClaimRequest) -> list[Lease]:
    leases: list[Lease] = []
    for dataset in await tx.rows(statements.claimable()):
        if len(leases) >= request.slots:
            break
        if request.wanted is None or dataset.name in request.wanted:
            leases += await _claim_from(tx, request, DatasetId(dataset.id), request.slots - len(leases))
    return leases


async def _claim_from(tx: Tx, request: ClaimRequest, dataset: DatasetId, slots: int) -> list[Lease]:
    params = {"dataset": dataset, "worker": request.worker, "deadline_ms": request.deadline_ms, "slots": slots}
    params["now_ms"] = tx.now_ms
    rows = await tx.rows(statements.claim(), params)
    if rows:
        await tx.seq()
        await tx.run(statements.took_turn(), {"dataset": dataset, "now_ms": tx.now_ms})
    until_ms, since_ms = request.deadline_ms, tx.now_ms
    return [
        Lease(JobId(row.id), row.attempt, request.worker, request.epoch, dataset, row.tries, until_ms, since_ms)
        for row in sorted(rows, key=lambda row: int(row.id))
    ]


async def prompts_of(store: Store, leases: Sequence[Lease]) -> dict[JobId, Prompt]:
    """What is asked for each lease. Samples never change, so this needs no lock."""
    async with store.snapshot() as reads:
        rows = await reads.rows(statements.prompts(), {"jobs": bind_rows([(lease.job,) for lease in leases])})
    return {
        JobId(row.id): Prompt(
            row.sample_id, row.replica, row.messages, row.tools, row.params, row.config, row.job_params, bool(row.held)
        )
        for row in rows
    }
