"""Fail: a failed attempt is kept, and its job moves as decided; an earlier response may stand in for it."""

from collections.abc import Sequence
from typing import Any

from app.leasing import statements_settling
from app.leasing.conversations import go_back_to_standing
from app.leasing.failure_groups import group_of
from app.model.ids import JobId
from app.model.lease import Failure, Lease, Settle
from app.model.states import JobState
from app.store.beside import beside_others
from app.store.store import Store
from app.store.transaction import Tx


@beside_others
async def fail(tx: Tx, failures: Sequence[Failure]) -> list[JobState | None]:
    """The state that each job moved to, or None where the lease was no longer its holder's."""
    return [await _fail_one(tx, failure) for failure in failures]


async def _fail_one(tx: Tx, failure: Failure) -> JobState | None:
    await tx.seq()
    await _note(tx, failure)
    fence = await tx.first(statements_settling.fence_of(), {"job": failure.lease.job})
    lease = failure.lease
    if fence is None or (fence.epoch, fence.attempt, fence.lease_worker) != (lease.epoch, lease.attempt, lease.worker):
        return None
    to_state = _decide(failure, fence)
    await tx.run(statements_settling.settle_failure(), _move(tx, failure, to_state))
    if to_state is JobState.FAILED and await stand_in(tx, failure.lease.job):
        return JobState.DONE
    return to_state


async def state_of(store: Store, lease: Lease, from_turn: int = 0) -> JobState | None:
    """Where the job of a lease is now; None where somebody else has claimed it since, or it is not at that turn yet."""
    which = {"job": lease.job, "attempt": lease.attempt, "from_turn": from_turn}
    async with store.snapshot() as reads:
        state = await reads.value(statements_settling.state_of(), which)
    return None if state is None else JobState(state)


def _decide(failure: Failure, fence: Any) -> JobState:
    used_up = failure.counted and fence.tries + 1 >= fence.max_attempts
    match failure.settle:
        case Settle.RELEASE:
            return JobState.READY
        case Settle.POSTPONE:
            return JobState.FAILED if used_up else JobState.WAITING
        case Settle.GIVE_UP:
            return JobState.FAILED


def _move(tx: Tx, failure: Failure, to_state: JobState) -> dict[str, Any]:
    return {
        "job": failure.lease.job,
        "held_attempt": failure.lease.attempt,
        "worker": failure.lease.worker,
        "epoch": failure.lease.epoch,
        "to_state": to_state,
        "to_due_ms": failure.due_ms if to_state is JobState.WAITING else None,
        "to_cause": failure.cause,
        "counted": int(failure.counted),
        "died": int(failure.died),
        "ended_ms": tx.now_ms if to_state is JobState.FAILED else None,
    }


async def _note(tx: Tx, failure: Failure) -> None:
    response = None
    if failure.response_stored:
        response = await tx.value(
            statements_settling.response_of(), {"job": failure.lease.job, "attempt": failure.lease.attempt}
        )
    row = {
        "job_id": failure.lease.job,
        "attempt": failure.lease.attempt,
        "at_ms": tx.now_ms,
        "cause": failure.cause,
        "http_status": failure.http_status,
        "message": failure.message,
        "counted": int(failure.counted),
        "worker_id": failure.lease.worker,
        "endpoint_id": failure.endpoint,
        "response_id": response,
        "body": failure.body,
        "leased_ms": failure.lease.leased_ms,
        "group_id": await group_of(tx, failure),
    }
    await tx.run(statements_settling.note_failure(), row)


async def stand_in(tx: Tx, job: JobId) -> bool:
    """Let an earlier response finish a job that has just failed; False where there is none."""
    row = await tx.first(statements_settling.stand_in(), {"job": job})
    if row is None:
        return False
    if row.turns > 1:
        return row.accepted_seq is not None and await _stand_in_whole(tx, job)
    if row.accepted_seq is None:
        await tx.run(statements_settling.accept_response(), {"response": row.id, "at_seq": await tx.seq()})
    copied = ("verdict", "expected", "finish_reason", "reasoning_chars", "content_chars", "completion_tokens", "found")
    facts = {name: getattr(row, name) for name in (*copied, "latency_ms", "preview", "loss_flags")}
    return await tx.run(statements_settling.promote(), {"job": job} | _named(facts)) == 1


async def _stand_in_whole(tx: Tx, job: JobId) -> bool:
    """The same for a conversation: only a whole one can, for one answer is none."""
    facts = await go_back_to_standing(tx, job)
    return await tx.run(statements_settling.promote(), {"job": job} | _named(facts)) == 1


def _named(facts: dict[str, Any]) -> dict[str, Any]:
    return {f"to_{name}": value for name, value in facts.items()}
