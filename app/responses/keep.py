"""The first half of an answer's way: the body is stored, verbatim, before anything judges it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.leasing.claim import refuse_other_epoch
from app.model.ids import ResponseId
from app.model.lease import Reply
from app.responses import statements
from app.store.batch import bind_rows
from app.store.beside import beside_others
from app.store.codec import Packed
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class PackedReply:
    """A reply whose body is already compressed and hashed, outside any transaction."""

    reply: Reply
    packed: Packed


@beside_others
async def keep(tx: Tx, replies: Sequence[PackedReply]) -> list[ResponseId]:
    """Store bodies; the number of each. A body of an attempt that has one already changes nothing."""
    await refuse_other_epoch(tx, {kept.reply.lease.epoch for kept in replies})
    await tx.seq()
    await tx.many(statements.keep_response(), [_row(kept) for kept in replies])
    keys = [(kept.reply.lease.job, kept.reply.lease.attempt, kept.reply.turn) for kept in replies]
    rows = await tx.rows(statements.stored(), {"kept": bind_rows(keys)})
    numbers = {(row.job_id, row.attempt, row.turn): ResponseId(row.id) for row in rows}
    found = [numbers[key] for key in keys]
    bodies = [body_row(response, kept.packed) for response, kept in zip(found, replies, strict=True)]
    await tx.many(statements.keep_body(), bodies)
    await tx.many(statements.await_reading(), [_unread(row) for row in rows if not row.was_read])
    return found


def _unread(row: Any) -> dict[str, int]:
    return {"response_id": row.id, "job_id": row.job_id, "worker_id": row.worker_id}


def body_row(response: ResponseId, packed: Packed) -> dict[str, Any]:
    """The bytes of a response as they are stored."""
    return {"response_id": response, "codec": packed.codec, "raw": packed.raw}


def _row(kept: PackedReply) -> dict[str, Any]:
    reply, packed = kept.reply, kept.packed
    return {
        "job_id": reply.lease.job,
        "attempt": reply.lease.attempt,
        "turn": reply.turn,
        "worker_id": reply.lease.worker,
        "endpoint_id": reply.endpoint,
        "leased_ms": reply.lease.leased_ms,
        "requested_ms": reply.requested_ms,
        "received_ms": reply.received_ms,
        "http_status": reply.http_status,
        "content_type": reply.content_type,
        "request_id": reply.request_id,
        "form": reply.form,
        "expected": int(reply.expected),
        "profile": reply.profile,
        "raw_text_sent": int(reply.raw_text_sent),
        "scrubbed": int(reply.scrubbed),
        "request": reply.request,
        "request_sha256": reply.request_sha256,
        "raw_bytes": packed.raw_bytes,
        "raw_sha256": packed.raw_sha256,
        "late": 0,
    }
