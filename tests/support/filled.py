"""A store with samples and answers in it, filled through the operations that a worker uses."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from app.capture import Asked, Form, read_body
from app.leasing.claim import ClaimRequest, claim
from app.leasing.settle import fail
from app.leasing.workers import Registration, register
from app.model.ids import DatasetId, EndpointId, JobId, ResponseId, WorkerId
from app.model.lease import Cause, Failure, Lease, Reply, Settle
from app.model.verdicts import Verdict
from app.responses.endpoints import EndpointIdentity, see
from app.responses.keep import PackedReply, keep
from app.responses.read import Judged, settle
from app.store.codec import pack
from app.store.store import Store, open_store
from app.store.tables import DATASET, JOB, SAMPLE, SOURCE
from app.store.transaction import Tx
from tests.support.cancelling import cancel
from tests.support.kinds import db

START_MS = 1_770_000_000_000  # a whole minute
_numbers = count(1)


@dataclass
class Clock:
    """A wall clock that moves when it is told to."""

    ms: int = START_MS

    def now_ms(self) -> int:
        return self.ms


def chat(
    content: str | None, *, reasoning: str | None = None, finish: str = "stop", counted: int = 50, **message: Any
) -> bytes:
    """A chat.completion body with usage."""
    said = {"role": "assistant", "content": content, **message}
    if reasoning is not None:
        said["reasoning_content"] = reasoning
    body = {
        "id": "r1", "object": "chat.completion", "model": "kimi",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": counted, "total_tokens": 7 + counted},
    }  # fmt: skip
    return json.dumps(body).encode()


def thought(number: int) -> bytes:
    """An answer whose reasoning stands in front of the closing tag."""
    return chat(f"think {number}</think>answer {number}")


LOST = {
    Verdict.MISSING: chat("no thought at all"),
    Verdict.LEAKED: chat("<think>never closed"),
    Verdict.TRUNCATED: chat("cut off", finish="length"),
}


@dataclass(frozen=True)
class _NewDataset:
    name: str
    rows: Sequence[tuple[str, str]]
    replicas: int
    config: str


async def _add(tx: Tx, asked: Sequence[_NewDataset]) -> list[DatasetId]:
    await tx.seq()
    return [await _add_one(tx, one) for one in asked]


async def _add_one(tx: Tx, new: _NewDataset) -> DatasetId:
    row = {"name": new.name, "created_ms": tx.now_ms, "config": new.config}
    dataset = DatasetId(await tx.value(insert(DATASET).returning(DATASET.c.id), row))
    await tx.run(
        insert(SOURCE),
        {
            "dataset_id": dataset, "name": f"{new.name}.jsonl", "sha256": "ab" * 32, "rows": len(new.rows),
            "started_ms": tx.now_ms, "finished_ms": tx.now_ms,
        },
    )  # fmt: skip
    for ordinal, (sample_id, messages) in enumerate(new.rows, 1):
        sample = await tx.value(
            insert(SAMPLE).returning(SAMPLE.c.id),
            {
                "dataset_id": dataset, "sample_id": sample_id, "base_id": sample_id, "content_sha256": "0",
                "messages": messages, "source_row": ordinal,
            },
        )  # fmt: skip
        for replica in range(new.replicas):
            place = {"dataset_id": dataset, "sample_ref": sample, "ordinal": ordinal, "replica": replica}
            await tx.run(insert(JOB), {**place, "sample_id": sample_id})
    return dataset


@dataclass
class Filled:
    """An open store and a worker that works at it, one step at a time."""

    store: Store
    clock: Clock
    worker: WorkerId
    endpoint: EndpointId
    thinking: dict[int, bool | None] = field(default_factory=dict)
    watched: bool = False  # whether answers count in the windows of gates and alarms

    async def dataset(
        self, name: str, size: int, *, replicas: int = 1, thinking: bool | None = None, prompts: Sequence[str] = ()
    ) -> DatasetId:
        """A dataset with samples `s1`, `s2`, ... that ask `prompts`, and `question N` beyond them."""
        texts = [*prompts, *(f"question {number}" for number in range(len(prompts) + 1, size + 1))]
        rows = [
            (f"s{number}", json.dumps([{"role": "user", "content": text}], ensure_ascii=False, separators=(",", ":")))
            for number, text in enumerate(texts, 1)
        ]
        config = json.dumps({} if thinking is None else {"thinking": thinking})
        made = await self.store.write(_add, _NewDataset(name, rows, replicas, config))
        self.thinking[made] = thinking
        return made

    async def claim(self, slots: int, *names: str) -> list[Lease]:
        """Leases on the next ready jobs, in the order of import."""
        wanted = frozenset(names) or None
        deadline_ms = self.clock.ms + 3_600_000
        return await self.store.write(claim, ClaimRequest(self.worker, self.store.epoch, slots, deadline_ms, wanted))

    async def answer(self, lease: Lease, body: bytes, *, form: Form = Form.CHAT) -> bool:
        """Store a body, read it and settle its job; whether it was accepted."""
        thinking = self.thinking.get(lease.dataset)
        reply = Reply(
            lease=lease, body=body, http_status=200, requested_ms=self.clock.ms - 1500, received_ms=self.clock.ms,
            form=form, request='{"model": "kimi", "temperature": 1.0}', request_sha256="0", profile="think",
            expected=thinking is not False, raw_text_sent=True, endpoint=self.endpoint,
        )  # fmt: skip
        response = await self.store.write(keep, PackedReply(reply, pack(body)))
        reading = read_body(200, body, Asked(thinking=thinking, form=form))
        failure = None
        if reading.verdict is Verdict.MALFORMED:
            failure = Failure(
                lease, Cause.MALFORMED, "no answer", Settle.POSTPONE, counted=True,
                due_ms=self.clock.ms + 60_000, response_stored=True,
            )  # fmt: skip
        server = self.endpoint if self.watched else None
        judged = Judged(ResponseId(response), lease, reading, thinking is not False, 1500, failure, server)
        return await self.store.write(settle, judged)

    async def fail(self, lease: Lease, cause: Cause = Cause.REJECTED, settle_as: Settle = Settle.GIVE_UP) -> None:
        """One failed attempt without a body."""
        due_ms = self.clock.ms + 60_000 if settle_as is Settle.POSTPONE else None
        await self.store.write(
            fail, Failure(lease, cause, "the server said \x1b[31mno", settle_as, counted=True, due_ms=due_ms)
        )

    async def answer_next(self, name: str, *bodies: bytes) -> list[JobId]:
        """Claim as many jobs as there are bodies, and answer each."""
        leases = await self.claim(len(bodies), name)
        assert len(leases) == len(bodies)
        for lease, body in zip(leases, bodies, strict=True):
            assert await self.answer(lease, body)
        return [lease.job for lease in leases]


async def every_kind(at: Filled, name: str = "d") -> DatasetId:
    """A dataset with jobs in every state and with every verdict, answered at different times and in different ways."""
    dataset = await at.dataset(name, 40, replicas=2)
    await at.dataset(f"{name}-off", 4, thinking=False)
    for minute in range(3):
        await at.answer_next(
            name, thought(minute), chat("a" * 300, reasoning="r" * 200), chat(f"{'t' * 5000}</think>a"), *LOST.values(),
            chat("both</think>x", reasoning="r"), chat("tool", reasoning="r", finish="tool_calls"),
        )  # fmt: skip
        at.clock.ms += 61_000
    await at.answer_next(f"{name}-off", chat("plain"), thought(1), chat("no", finish="length"))
    leases = await at.claim(8, name)
    await at.fail(leases[0])
    await at.fail(leases[1], Cause.KILLS_WORKERS)
    await at.fail(leases[2], Cause.TIMED_OUT, Settle.POSTPONE)
    await at.fail(leases[3], Cause.UNREACHABLE, Settle.RELEASE)
    await at.answer(leases[4], b"<html>busy</html>")  # waits
    assert await at.store.write(cancel, leases[5].job)
    assert not await at.answer(leases[5], thought(9))  # late
    return dataset


@asynccontextmanager
async def filled(path: Path | str, **options: Any) -> AsyncIterator[Filled]:
    """A store at `path`, made if need be, with a registered worker and a known endpoint."""
    clock = Clock()
    async with open_store(db(path), create=True, now_ms=clock.now_ms, **options) as store:
        number = next(_numbers)
        who = Registration(f"u{os.getpid()}-{number}", "gpu", "host", 4242, "boot", "0.1.0", slots=8, ttl_ms=60_000)
        worker = await store.write(register, who)
        identity = EndpointIdentity("http://server:30000/v1", "kimi", {"version": "0.5.23"})
        yield Filled(store, clock, worker, await store.write(see, identity))
