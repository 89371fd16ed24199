"""A store with a few jobs and several workers, for tests that move leases one step at a time."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import insert, text

from app.capture import Asked, read_body
from app.leasing.claim import ClaimRequest, claim
from app.leasing.rescue import Rescued, RescueRequest, rescue
from app.leasing.settle import fail
from app.leasing.workers import Registration, register
from app.model.ids import DatasetId, JobId, ResponseId, WorkerId
from app.model.lease import Cause, Failure, Lease, Reply, Settle
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.responses.keep import PackedReply, keep
from app.responses.read import Judged, settle
from app.store.codec import pack
from app.store.store import Store, open_store
from app.store.tables import DATASET, JOB, SAMPLE
from app.store.transaction import Tx
from tests.integration.store.kit import run
from tests.support.filled import Clock, chat
from tests.support.kinds import db

LEASE_MS = 600_000
GOOD = chat("thought</think>answer")
MALFORMED = b'{"error": "busy'
Result = TypeVar("Result")


@dataclass(frozen=True)
class NewDataset:
    """A dataset to be made, with that many jobs."""

    name: str
    jobs: int
    rank: int = 0
    max_attempts: int = 3


async def add(tx: Tx, asked: Sequence[NewDataset]) -> list[DatasetId]:
    """Make datasets; the jobs of each have ranks 0."""
    return [await _add(tx, new) for new in asked]


async def _add(tx: Tx, new: NewDataset) -> DatasetId:
    row = {"name": new.name, "created_ms": tx.now_ms, "rank": new.rank, "max_attempts": new.max_attempts}
    dataset = DatasetId(await tx.value(insert(DATASET).returning(DATASET.c.id), row))
    for ordinal in range(1, new.jobs + 1):
        name = {"dataset_id": dataset, "sample_id": f"s{ordinal}"}
        asked = {"base_id": f"s{ordinal}", "content_sha256": "0", "messages": '[{"role": "user", "content": "?"}]'}
        sample = await tx.value(insert(SAMPLE).returning(SAMPLE.c.id), name | asked)
        await tx.run(insert(JOB), name | {"sample_ref": sample, "ordinal": ordinal})
    return dataset


async def execute(tx: Tx, statements: Sequence[str]) -> list[int]:
    """Run SQL of the test's own, for what no operation does yet."""
    return [await tx.run(text(statement)) for statement in statements]


def judged(response: ResponseId, lease: Lease, body: bytes, failure: Failure | None) -> Judged:
    """A stored body as its reader settles it; a malformed one with `failure`."""
    reading = read_body(200, body, Asked())
    assert (reading.verdict is Verdict.MALFORMED) is (failure is not None)
    return Judged(response, lease, reading, expected=True, latency_ms=5, failure=failure)


@dataclass
class Room:
    """An open store, its clock, and what workers do in it."""

    store: Store
    clock: Clock
    names: int = 0
    bodies: dict[ResponseId, bytes] = field(default_factory=dict)

    async def worker(self) -> WorkerId:
        """A worker that has just started."""
        self.names += 1
        who = Registration(f"u{self.names}-{self.clock.ms}", "w", "h", 1, "b", "0", slots=8, ttl_ms=60_000)
        return await self.store.write(register, who)

    async def dataset(self, name: str, jobs: int, rank: int = 0, max_attempts: int = 3) -> DatasetId:
        return await self.store.write(add, NewDataset(name, jobs, rank, max_attempts))

    async def claim(self, worker: WorkerId, slots: int = 100, *wanted: str) -> list[Lease]:
        """The leases of one claim; they end ten minutes from now."""
        deadline_ms = self.clock.ms + LEASE_MS
        request = ClaimRequest(worker, self.store.epoch, slots, deadline_ms, frozenset(wanted) or None)
        return await self.store.write(claim, request)

    async def keep(self, lease: Lease, body: bytes = GOOD) -> ResponseId:
        """The first half of an answer."""
        reply = Reply(
            lease=lease, body=body, http_status=200, requested_ms=self.clock.ms - 5, received_ms=self.clock.ms,
            form="chat", request="{}", request_sha256="0", expected=True, profile="think", raw_text_sent=False,
        )  # fmt: skip
        response = await self.store.write(keep, PackedReply(reply, pack(body)))
        self.bodies.setdefault(response, body)
        return response

    async def settle(self, response: ResponseId, lease: Lease, failure: Failure | None = None) -> bool:
        """The second half: whether it was accepted."""
        return await self.store.write(settle, judged(response, lease, self.bodies[response], failure))

    async def answer(self, lease: Lease) -> bool:
        return await self.settle(await self.keep(lease), lease)

    async def fail(self, lease: Lease, settle_as: Settle = Settle.POSTPONE, **more: Any) -> JobState | None:
        return await self.store.write(fail, self.failure(lease, settle_as, **more))

    def failure(self, lease: Lease, settle_as: Settle, *, counted: bool = True, wait_ms: int = 1000) -> Failure:
        cause = Cause.REJECTED if settle_as is Settle.GIVE_UP else Cause.SERVER_ERROR
        due_ms = self.clock.ms + wait_ms if settle_as is Settle.POSTPONE else None
        return Failure(lease, cause, "words", settle_as, counted, due_ms)

    async def rescue(self, dead: WorkerId, rescuer: WorkerId) -> Rescued:
        return await self.store.write(rescue, RescueRequest(dead, rescuer))

    async def job(self, job: JobId) -> Any:
        """The row of a job."""
        async with self.store.snapshot() as reads:
            return await reads.first(JOB.select().where(JOB.c.id == job))

    async def facts(self) -> dict[int, tuple[object, ...]]:
        """What the model knows of each job, as the store has it."""
        rows = await self.all(
            "SELECT id, state, attempt, tries, expiries, lease_worker, lease_deadline_ms, due_ms FROM job ORDER BY id"
        )
        return {number: tuple(facts) for number, *facts in rows}

    async def all(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query of the test's own."""
        async with self.store.snapshot() as reads:
            return [tuple(row) for row in await reads.rows(text(sql))]

    async def execute(self, sql: str) -> int:
        return await self.store.write(execute, sql)

    async def responses(self, job: JobId) -> dict[int, str]:
        """What each attempt's response is: accepted, superseded, late, unread or none of these."""
        rows = await self.all(
            "SELECT attempt, CASE WHEN id IN (SELECT response_id FROM unread) THEN 'unread'"
            " WHEN superseded_seq IS NOT NULL THEN 'superseded' WHEN accepted_seq IS NOT NULL THEN 'accepted'"
            f" WHEN late = 1 THEN 'late' ELSE 'kept' END FROM response WHERE job_id = {int(job)}"
        )
        return dict(rows)  # type: ignore[arg-type]


@asynccontextmanager
async def open_room(path: Path, clock: Clock | None = None) -> AsyncIterator[Room]:
    """A new or an old store at `path`."""
    clock = clock or Clock()
    async with open_store(db(path), create=True, now_ms=clock.now_ms) as store:
        yield Room(store, clock)


def in_room(folder: Path, work: Callable[[Room], Awaitable[Result]]) -> Result:
    """Work in a new store."""

    async def opened() -> Result:
        async with open_room(folder / "t.db") as room:
            return await work(room)

    return run(opened)


async def counters(room: Room) -> dict[str, int]:
    """The counters of all datasets together."""
    return dict(await room.all("SELECT metric, sum(n) FROM counter GROUP BY 1 HAVING sum(n) <> 0"))  # type: ignore[arg-type]
