"""Claim: a worker takes ready jobs, one dataset at a time."""

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass

from app.leasing import statements
from app.leasing.conversations import Place, conversations_at
from app.model.conversation import Conversation
from app.model.errors import StoreReplaced
from app.model.ids import DatasetId, JobId, WorkerId
from app.model.lease import Lease
from app.store.batch import bind_rows
from app.store.beside import beside_others
from app.store.store import Store
from app.store.transaction import Reads, Tx


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """How many jobs a worker can take, and from where."""

    worker: WorkerId
    epoch: int
    slots: int
    deadline_ms: int  # wall clock; a live worker may lose a lease from then on
    wanted: frozenset[str] | None = None  # dataset names; None: every dataset
    models: frozenset[str] | None = None  # what can be asked now; a dataset that names no model fits any. None: all
    suspects: bool = False  # only jobs that are to be asked alone; else only the others

    def wants(self, name: str) -> bool:
        """Whether the dataset of that name is to be worked at."""
        return self.wanted is None or name in self.wanted

    def serves(self, model: str | None) -> bool:
        """Whether the jobs of a dataset that names this model, or none, can be asked."""
        return model is None or self.models is None or model in self.models


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked for one job."""

    sample_id: str
    replica: int
    messages: str  # JSON list, as the sample has it: of a conversation the script
    tools: str | None  # JSON list
    params: str | None  # JSON of the row's own settings
    config: str  # JSON of the dataset's settings
    job_params: str | None = None  # JSON of settings that a retry gave this job
    seed: int | None = None  # where its sample is answered several times
    conversation: Conversation | None = None  # where it is one of several turns
    held: bool = False  # a hold came between the claim and this look
    dataset: str = ""  # its name; with `content_sha256` it finds the sample again in a store that was restored
    content_sha256: str = ""


@beside_others
async def claim(tx: Tx, requests: Sequence[ClaimRequest]) -> list[list[Lease]]:
    """Leases for each request, lowest rank first; none from a held dataset, none for a worker that is not live.

    What cannot be asked now is left alone: a job that is claimed and given back again would be so without end.
    """
    await refuse_other_epoch(tx, {request.epoch for request in requests})
    if await tx.run(statements.wake_due(), {"now_ms": tx.now_ms}):
        await tx.seq()
    return [await _claim_for(tx, request) for request in requests]


async def refuse_other_epoch(tx: Tx, epochs: Set[int]) -> None:
    """Raise StoreReplaced where a restore has made the leases of these epochs void."""
    now = int(await tx.value(statements.epoch()))
    if epochs - {now}:
        raise StoreReplaced(f"The store was restored (epoch {now}) while this process worked for epoch {min(epochs)}.")


async def _claim_for(tx: Tx, request: ClaimRequest) -> list[Lease]:
    leases: list[Lease] = []
    for dataset in await tx.rows(statements.claimable()):
        if len(leases) >= request.slots:
            break
        if request.wants(dataset.name) and request.serves(model_of(dataset.config)):
            leases += await _claim_from(tx, request, DatasetId(dataset.id), request.slots - len(leases))
    return leases


async def _claim_from(tx: Tx, request: ClaimRequest, dataset: DatasetId, slots: int) -> list[Lease]:
    params = {"dataset": dataset, "worker": request.worker, "deadline_ms": request.deadline_ms, "slots": slots}
    params["now_ms"] = tx.now_ms
    statement = statements.claim_suspects() if request.suspects else statements.claim()
    rows = await tx.rows(statement, params)
    if rows:
        await tx.seq()
        await tx.run(statements.took_turn(), {"dataset": dataset, "now_ms": tx.now_ms})
    until_ms, since_ms = request.deadline_ms, tx.now_ms
    return [
        Lease(
            JobId(row.id),
            row.attempt,
            request.worker,
            request.epoch,
            dataset,
            row.tries,
            until_ms,
            row.deaths,
            leased_ms=since_ms,
        )
        for row in sorted(rows, key=lambda row: int(row.id))
    ]


def model_of(config: str) -> str | None:
    """The model that a dataset's settings name. Settings of another version are not judged here."""
    named = json.loads(config).get("model")
    return named if isinstance(named, str) else None


async def unserved(store: Store, wanted: frozenset[str] | None, models: frozenset[str]) -> list[str]:
    """Models that datasets with ready jobs name, and that are not among `models`."""
    async with store.snapshot() as reads:
        rows = await reads.rows(statements.claimable())
    named = {model_of(row.config) for row in rows if wanted is None or row.name in wanted}
    return sorted(model for model in named if model is not None and model not in models)


async def prompts_of(store: Store, leases: Sequence[Lease]) -> dict[JobId, Prompt]:
    """What is asked for each lease. Samples never change, nor do the answers of a conversation that is leased, so this
    needs no lock.
    """
    return await store.read(lambda reads: _prompts(reads, leases))


async def _prompts(reads: Reads, leases: Sequence[Lease]) -> dict[JobId, Prompt]:
    rows = await reads.rows(statements.prompts(), {"jobs": bind_rows([(lease.job,) for lease in leases])})
    places = [Place(JobId(row.id), row.messages, row.turns, row.turn) for row in rows if row.turns > 1]
    conversations = {job: found for (job, _), found in (await conversations_at(reads, places)).items()}
    return {
        JobId(row.id): Prompt(
            sample_id=row.sample_id,
            replica=row.replica,
            messages=row.messages,
            tools=row.tools,
            params=row.params,
            config=row.config,
            job_params=row.job_params,
            held=bool(row.held),
            dataset=row.dataset,
            content_sha256=row.content_sha256,
            seed=row.seed,
            conversation=conversations.get(JobId(row.id)),
        )
        for row in rows
    }
