"""Answers that another parser read, and a reparse of them."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import text

from app.capture import Asked, Reading, read_body
from app.leasing.datasets import dataset_of
from app.model.lease import Cause, Failure, Lease, Reply, Settle
from app.model.verdicts import Verdict
from app.responses.keep import PackedReply, keep
from app.responses.read import Judged, settle
from app.responses.rereading import Reparse, reparse
from app.responses.transitions import Report
from app.store.codec import pack
from app.store.transaction import Tx
from tests.integration.store.kit import run
from tests.support.filled import Filled, filled


async def answer(
    at: Filled, lease: Lease, body: bytes, seen: Callable[[Reading], Reading], settle_as: Settle = Settle.POSTPONE
) -> None:
    """An answer through the worker's own operations, read by another parser."""
    reply = Reply(
        lease=lease, body=body, http_status=200, requested_ms=at.clock.ms - 1500, received_ms=at.clock.ms, form="chat",
        request="{}", request_sha256="0", expected=True, profile="think", raw_text_sent=True, endpoint=at.endpoint,
    )  # fmt: skip
    response = await at.store.write(keep, PackedReply(reply, pack(body)))
    reading = seen(read_body(200, body, Asked()))
    failure = None
    if reading.verdict is Verdict.MALFORMED:
        due_ms = at.clock.ms + 60_000
        failure = Failure(lease, Cause.MALFORMED, "", settle_as, counted=True, due_ms=due_ms, response_stored=True)
    await at.store.write(settle, Judged(response, lease, reading, expected=True, latency_ms=1500, failure=failure))


async def answers(at: Filled, seen: Callable[[Reading], Reading], *bodies: bytes) -> list[Lease]:
    leases = await at.claim(len(bodies))
    for lease, body in zip(leases, bodies, strict=True):
        await answer(at, lease, body, seen)
    return leases


async def again(at: Filled, name: str = "d", **how: bool) -> Report:
    return await reparse(at.store, Reparse(await dataset_of(at.store, name), **how), lambda _done, _total: None)


async def rows(at: Filled, sql: str) -> list[tuple[Any, ...]]:
    async with at.store.snapshot() as reads:
        return [tuple(row) for row in await reads.rows(text(sql))]


async def execute(tx: Tx, sql: Sequence[str]) -> list[int]:
    return [await tx.run(text(one)) for one in sql]


def in_filled(folder: Path, work: Callable[[Filled], Awaitable[None]]) -> None:
    async def opened() -> None:
        async with filled(folder / "thinkledger.db") as at:
            await work(at)

    run(opened)
