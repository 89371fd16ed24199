"""The rows of worker processes: one a start, with a heartbeat."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.leasing import events, statements
from app.model.errors import NotFound
from app.model.ids import WorkerId
from app.store.beside import beside_others
from app.store.store import Store
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Registration:
    """Who a worker process is."""

    uuid: str  # the name of its lock file
    name: str
    host: str
    pid: int
    boot_id: str
    version: str
    slots: int
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class OpenWorker:
    """A worker that has neither stopped nor been declared dead, as a rescuer sees it."""

    id: WorkerId
    uuid: str
    beat: int
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class Leave:
    """A worker goes to `state`: draining, or stopped."""

    worker: WorkerId
    state: str


async def register(tx: Tx, registrations: Sequence[Registration]) -> list[WorkerId]:
    """Note the start of worker processes; their numbers are never used again."""
    return [await _register_one(tx, registration) for registration in registrations]


async def _register_one(tx: Tx, who: Registration) -> WorkerId:
    await tx.seq()
    row = {
        "uuid": who.uuid, "name": who.name, "host": who.host, "pid": who.pid, "boot_id": who.boot_id,
        "version": who.version, "slots": who.slots, "ttl_ms": who.ttl_ms,
        "started_ms": tx.now_ms, "heartbeat_ms": tx.now_ms, "state": "live",
    }  # fmt: skip
    worker = WorkerId(await tx.value(statements.register(), row))
    await events.note(tx, "worker_started", worker=worker, name=who.name)
    return worker


@beside_others
async def renew(tx: Tx, workers: Sequence[WorkerId]) -> list[bool]:
    """One beat each; False for a worker that was declared dead meanwhile, which must claim nothing more."""
    await tx.seq()
    return [await tx.run(statements.renew(), {"worker": worker, "now_ms": tx.now_ms}) == 1 for worker in workers]


async def leave(tx: Tx, leaves: Sequence[Leave]) -> list[bool]:
    """Move workers on; False for one that was declared dead meanwhile."""
    return [await _leave_one(tx, asked) for asked in leaves]


async def _leave_one(tx: Tx, asked: Leave) -> bool:
    await tx.seq()
    at_ms = tx.now_ms if asked.state == "stopped" else None
    moved = await tx.run(
        statements.set_worker_state(), {"worker": asked.worker, "to_state": asked.state, "at_ms": at_ms}
    )
    if asked.state == "stopped":
        await tx.run(statements.release_all(), {"worker": asked.worker})
    if moved or asked.state == "stopped":
        await events.note(tx, f"worker_{asked.state}", worker=asked.worker)
    return moved == 1


async def drain(store: Store, worker: WorkerId) -> bool:
    """Ask a worker to claim nothing more and to stop when its open answers have come; False for one that has ended."""
    async with store.snapshot() as reads:
        known = await reads.value(statements.worker_state(), {"worker": worker})
    if known is None:
        raise NotFound(f"There is no worker {worker}. `thinkledger worker list` and the page of workers show them.")
    return await store.write(leave, Leave(worker, "draining"))


async def is_asked_to_drain(store: Store, worker: WorkerId) -> bool:
    """Whether a person has asked the worker to claim nothing more."""
    async with store.snapshot() as reads:
        return bool(await reads.value(statements.worker_state(), {"worker": worker}) == "draining")


async def open_workers(store: Store) -> list[OpenWorker]:
    """All workers that may hold leases."""
    async with store.snapshot() as reads:
        rows = await reads.rows(statements.open_workers())
    return [OpenWorker(WorkerId(row.id), row.uuid, row.beat, row.ttl_ms) for row in rows]
