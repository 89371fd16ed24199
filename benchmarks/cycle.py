"""Our side of the store: prompts go in, jobs are claimed and answers settled, by the operations that a worker uses."""

import hashlib
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from app.capture import Asked, Reading, read_body
from app.intake.adding import Batch, add_batches
from app.intake.identity import Identity, Origin
from app.intake.matching import Matched
from app.intake.request import ImportRequest
from app.intake.rows import Row
from app.leasing.claim import ClaimRequest, claim, prompts_of
from app.leasing.workers import Leave, Registration, leave, register
from app.model.config import DatasetConfig
from app.model.ids import DatasetId, EndpointId, WorkerId
from app.model.lease import Lease, Reply
from app.responses.endpoints import EndpointIdentity, see
from app.responses.keep import PackedReply, keep
from app.responses.read import Judged, settle
from app.store.codec import Packed, pack
from app.store.store import Store, open_store
from benchmarks import data
from worker.cli_context import loop_options

BATCH = 64
LEASE_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Answer:
    """A body with all that is known of it before it comes to the store. Without `packed` it is packed on the way."""

    body: bytes
    reading: Reading
    packed: Packed | None


def row(number: int) -> Row:
    """A prompt as an import has read it."""
    messages = data.messages(number)
    identity = Identity(f"s{number}", Origin.EXPLICIT, hashlib.sha256(messages.encode()).hexdigest())
    return Row(number + 1, "chat", identity, messages, None, ())


def answer(number: int, size: int = 8192, *, packed: bool) -> Answer:
    """An answer. `packed`: its body is stored as it is; otherwise it is compressed and hashed on its way."""
    body = data.body(number, size)
    plain = Packed("plain", body, len(body), "0" * 64) if packed else None
    return Answer(body, read_body(200, body, Asked()), plain)


@dataclass
class Cycle:
    """An open store, a worker that is registered, and a dataset."""

    store: Store
    worker: WorkerId
    endpoint: EndpointId
    dataset: DatasetId | None = None
    source: int | None = None

    async def enqueue(self, rows: Sequence[Row]) -> None:
        """Add prompts, in one transaction."""
        batch = Batch(
            request=ImportRequest("data", "data.jsonl"), dataset=self.dataset, source=self.source, rank=0,
            config=DatasetConfig(), rows=rows, matched=Matched(), rows_read=len(rows), rows_rejected=0,
        )  # fmt: skip
        done = await self.store.write(add_batches, batch)
        self.dataset, self.source = done.dataset, done.source

    async def claim(self, slots: int = BATCH) -> list[Lease]:
        """Leases, and the prompts that are asked for them."""
        deadline_ms = self.store.now_ms() + LEASE_MS
        request = ClaimRequest(self.worker, self.store.epoch, slots, deadline_ms)
        leases = await self.store.write(claim, request)
        if leases:
            await prompts_of(self.store, leases)
        return leases

    async def complete(self, leases: Sequence[Lease], answers: Sequence[Answer]) -> None:
        """Store and settle answers that all come at once."""
        async with anyio.create_task_group() as tasks:
            for lease, one in zip(leases, answers, strict=True):
                tasks.start_soon(self._complete, lease, one)

    async def _complete(self, lease: Lease, one: Answer) -> None:
        now_ms = self.store.now_ms()
        reply = Reply(
            lease=lease, body=one.body, http_status=200, requested_ms=now_ms - 1500, received_ms=now_ms, form="chat",
            request='{"model":"kimi-k2.5"}', request_sha256="0" * 64, expected=True, profile="think",
            raw_text_sent=True, endpoint=self.endpoint,
        )  # fmt: skip
        response = await self.store.write(keep, PackedReply(reply, one.packed or pack(one.body)))
        judged = Judged(response, lease, one.reading, expected=True, latency_ms=1500, endpoint=self.endpoint)
        assert await self.store.write(settle, judged)


@asynccontextmanager
async def opened(db: Path | str) -> AsyncIterator[Cycle]:
    """A store at `db`, made if need be, with a worker that has just started."""
    async with open_store(str(db), create=True):
        pass  # SQLite compiles statements anew at each run on the very connection that made the schema
    async with open_store(str(db)) as store:
        who = Registration(f"bench-{uuid.uuid4()}", "bench", "host", 1, "boot", "0", slots=BATCH, ttl_ms=60_000)
        worker = await store.write(register, who)
        server = await store.write(see, EndpointIdentity("http://server:30000/v1", "kimi-k2.5", {"version": "0"}))
        yield Cycle(store, worker, server)
        await store.write(leave, Leave(worker, "stopped"))


async def fill(db: Path | str, jobs: int, size: int) -> None:
    """A store in which every job is done, with answers of `size` bytes."""
    async with opened(db) as at:
        for start in range(0, jobs, BATCH):
            await at.enqueue([row(number) for number in range(start, min(start + BATCH, jobs))])
            leases = await at.claim()
            await at.complete(leases, [answer(start + place, size, packed=False) for place in range(len(leases))])


def run(work: object, *arguments: object) -> object:
    """Run an async function in the event loop that the product uses."""
    return anyio.run(work, *arguments, backend_options=loop_options())  # type: ignore[arg-type]
