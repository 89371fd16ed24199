"""Answers in a conversation: each is taken at its turn, and all are accepted together with the last one.

Until then an earlier whole run of the conversation stands, so that a retry that fails for good loses nothing. Where the
conversation is, is `job.turn`: an answer to another turn than that is kept as late.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from app.leasing import statements_turns
from app.leasing.conversations import Facts, whole_facts
from app.model.ids import JobId, ResponseId
from app.model.lease import Lease
from app.model.states import Event, JobState, sources
from app.responses import statements
from app.store.batch import bind_rows
from app.store.transaction import Tx

_COPIED = (
    "verdict", "expected", "finish_reason", "found", "reasoning_chars", "content_chars", "completion_tokens",
    "latency_ms", "preview", "loss_flags",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """A readable answer to one turn. `until_ms` is the deadline of its holder, who asks the next turn; None: nobody."""

    response: ResponseId
    lease: Lease
    turn: int
    last: bool
    until_ms: int | None = None


async def take_turns(tx: Tx, answers: Sequence[TurnAnswer], *, told_late: bool = True) -> set[ResponseId]:
    """Those that are answers of their jobs now; the others are marked as late, where they are new."""
    if not answers:
        return set()
    jobs = bind_rows((one.lease.job,) for one in answers)
    fences = {JobId(row.id): row for row in await tx.rows(statements_turns.fences(), {"jobs": jobs})}
    ours = [one for one in answers if _is_at(one.lease, one.turn, fences[one.lease.job])]
    late = [(one.response,) for one in answers if one not in ours]
    if late and told_late:
        await tx.run(statements.mark_late(), {"responses": bind_rows(late)})
    rows = [{"job_id": one.lease.job, "turn": one.turn, "response_id": one.response} for one in ours]
    await tx.many(statements_turns.take_turn(), rows)
    await _go_on(tx, [one for one in ours if not one.last])
    await _finish(tx, [(one.lease, one.turn) for one in ours if one.last])
    return {one.response for one in ours}


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """An answer to a turn that was stored before; `imported`: no worker brought it."""

    answer: TurnAnswer
    received_ms: int
    imported: bool


async def take_stored_turns(tx: Tx, talks: Sequence[Sequence[StoredTurn]]) -> int:
    """Let conversations go on with stored answers, each with those of its next turns; how many of them ended.

    They are finished when their last answer came, not now: what is only read anew must not look like speed.
    """
    ended = 0
    for of_one_turn in zip_longest(*talks):
        stored = [one for one in of_one_turn if one is not None]
        taken = await take_turns(tx, [one.answer for one in stored], told_late=False)
        last = [one for one in stored if one.answer.last and one.answer.response in taken]
        rows = bind_rows((one.answer.lease.job, one.received_ms, int(one.imported)) for one in last)
        if last:
            await tx.run(statements_turns.came_then(), {"ends": rows})
        ended += len(last)
    return ended


async def reopen(tx: Tx, places: Mapping[JobId, int]) -> int:
    """Ask on in conversations that ended early at these turns, by an answer that is read otherwise now.

    What they have stands until the new end is accepted, as with a retry.
    """
    if not places:
        return 0
    return await tx.run(statements_turns.reopen(), {"places": bind_rows(places.items())})


async def end_here(tx: Tx, leases: Sequence[Lease]) -> list[JobState | None]:
    """Finish conversations whose holder finds that nothing is left to ask; their states, None where it lost the lease.

    That is so where answers were read anew since: one may call a tool now whose result the file does not have.
    """
    return [await _end_here(tx, lease) for lease in leases]


async def _end_here(tx: Tx, lease: Lease) -> JobState | None:
    fence = await tx.first(statements_turns.fences(), {"jobs": bind_rows([(lease.job,)])})
    if fence is None or fence.state != JobState.LEASED or fence.turn == 0:
        return None
    if not _is_at(lease, fence.turn, fence):
        return None
    await _finish(tx, [(lease, fence.turn - 1)])
    return JobState.DONE


def _is_at(lease: Lease, turn: int, fence: Any) -> bool:
    """Whether the lease is that of the newest attempt, its job is at that turn, and nobody else holds it."""
    newest = (fence.epoch, fence.attempt, fence.turn) == (lease.epoch, lease.attempt, turn)
    held_by_other = fence.state == JobState.LEASED and fence.lease_worker != lease.worker
    return newest and fence.state in sources(Event.ACCEPT) and not held_by_other


async def _go_on(tx: Tx, answers: Sequence[TurnAnswer]) -> None:
    rows = bind_rows((one.lease.job, one.lease.attempt, one.turn, one.until_ms) for one in answers)
    if answers:
        await tx.run(statements_turns.go_on(), {"answers": rows, "now_ms": tx.now_ms})


async def _finish(tx: Tx, ends: Sequence[tuple[Lease, int]]) -> None:
    """Accept whole conversations up to a turn, and let their jobs say what all their turns come to."""
    if not ends:
        return
    facts = await accept_whole(tx, {lease.job: turn for lease, turn in ends})
    rows = [_job_facts(lease, facts[lease.job]) for lease, _ in ends]
    await tx.run(statements.accept(), {"answers": bind_rows(rows), "now_ms": tx.now_ms})


async def accept_whole(tx: Tx, last_turns: dict[JobId, int]) -> dict[JobId, Facts]:
    """The answers that these jobs have up to a turn are the accepted ones; what the jobs say of them."""
    ends = bind_rows(last_turns.items())
    seq = await tx.seq()
    await tx.run(statements_turns.supersede_replaced(), {"ends": ends, "at_seq": seq})
    await tx.run(statements_turns.accept_whole(), {"ends": ends, "at_seq": seq})
    answered = bind_rows((job, turn + 1) for job, turn in last_turns.items())
    await tx.run(statements_turns.set_turn(), {"ends": answered})
    return await whole_facts(tx, last_turns)


async def take_conversations(tx: Tx, talks: Mapping[JobId, int], numbers: Mapping[tuple[int, int], int]) -> None:
    """Whole conversations that were stored and accepted at once: their numbers of turns, and of each response."""
    if not talks:
        return
    rows = [
        {"job_id": job, "turn": turn, "response_id": numbers[job, turn]}
        for job, turns in talks.items()
        for turn in range(turns)
    ]
    await tx.many(statements_turns.take_turn(), rows)
    await tx.run(statements_turns.set_turn(), {"ends": bind_rows(talks.items())})
    await copy_whole(tx, talks.keys())


async def copy_whole(tx: Tx, jobs: Set[JobId]) -> None:
    """Let conversations of which answers were read anew say what all their turns come to now."""
    if not jobs:
        return
    facts = await whole_facts(tx, sorted(jobs))
    rows = bind_rows((job, *(said[name] for name in _COPIED)) for job, said in facts.items())
    await tx.run(statements_turns.copy_whole(), {"facts": rows})


def _job_facts(lease: Lease, facts: Facts) -> tuple[int | str | None, ...]:
    return lease.job, lease.attempt, lease.worker, *(facts[name] for name in _COPIED), lease.epoch
