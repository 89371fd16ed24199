"""Answers out of the spool go the ordinary way: the body is stored, and then read and settled like any other.

So a newer accepted attempt wins, and an answer that comes after it is kept as late. Bringing one in again changes
nothing: `(job, attempt, turn)` is its name, or, after a restore, the job and the hash of the body.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from app.model.ids import DatasetId, JobId, ResponseId, WorkerId
from app.model.lease import Lease
from app.responses import statements, statements_stored
from app.responses.keep import PackedReply, keep
from app.spool.record import SpooledAnswer
from app.store.batch import bind_rows
from app.store.transaction import Tx


class Outcome(StrEnum):
    """What became of a spooled answer."""

    STORED = "stored"  # its body is in the store, now or from before
    LATER = "later"  # somebody works at its job just now, or reads another body of it: bring it in again
    UNMATCHED = "unmatched"  # no job of this store is the one it answers


@dataclass(frozen=True, slots=True)
class Spooled:
    """An answer and the worker that brings it in."""

    answer: SpooledAnswer
    bringer: WorkerId


@dataclass(frozen=True, slots=True)
class Brought:
    """What became of it; the response, where it is stored, may still have to be read."""

    outcome: Outcome
    response: ResponseId | None = None


async def bring_in(tx: Tx, spooled: Sequence[Spooled]) -> list[Brought]:
    """Store the bodies of spooled answers."""
    return [await _bring_one(tx, one) for one in spooled]


async def _bring_one(tx: Tx, one: Spooled) -> Brought:
    answer = one.answer
    store = await tx.first(statements.store_identity())
    assert store is not None
    names = {"dataset": answer.dataset, "sample_id": answer.sample_id, "replica": answer.replica}
    job = await tx.first(statements.job_named(), names)
    if job is None or answer.store_id != store.store_id or answer.content_sha256 != job.content_sha256:
        return Brought(Outcome.UNMATCHED)
    if answer.epoch != store.epoch:
        return await _bring_restored(tx, one, job, store.epoch)
    if answer.reply.lease.job != job.id:  # the dataset was deleted and imported anew
        return Brought(Outcome.UNMATCHED)
    return await _keep(tx, PackedReply(answer.reply, answer.packed))


async def _bring_restored(tx: Tx, one: Spooled, job: Any, epoch: int) -> Brought:
    """The answer to an attempt that the restored store knows nothing of, as a new attempt."""
    if one.answer.reply.turn > 0:  # it was asked after answers that the restored store may have others in place of
        return Brought(Outcome.UNMATCHED)
    body = bind_rows([(job.id, one.answer.reply.turn, one.answer.packed.raw_sha256)])
    if await tx.first(statements_stored.known_bodies(), {"bodies": body}):
        return Brought(Outcome.STORED)
    attempt = await tx.value(statements.count_found(), {"job": job.id})
    if attempt is None:
        return Brought(Outcome.LATER)
    lease = Lease(JobId(job.id), attempt, one.bringer, epoch, DatasetId(job.dataset_id), job.tries)
    # Numbers of workers and endpoints may mean others by now: who brings it in is known, who sent it is not.
    return await _keep(tx, PackedReply(replace(one.answer.reply, lease=lease, endpoint=None), one.answer.packed))


async def _keep(tx: Tx, reply: PackedReply) -> Brought:
    (response,) = await keep(tx, [reply])
    return Brought(Outcome.STORED, response)
