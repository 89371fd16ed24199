"""The transaction of a reparse: new readings, the facts of the jobs that they stand for, and jobs that they finish."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.capture import Reading
from app.leasing import events
from app.model.ids import DatasetId, JobId, ResponseId, Seq
from app.model.loss_flags import LossFlag
from app.responses import statements, statements_stored
from app.responses.read import copied_facts, reading_row, token_row
from app.responses.transitions import Report, Transition
from app.responses.turns import StoredTurn, copy_whole, reopen, take_stored_turns
from app.responses.versions import claim_version
from app.store.batch import bind_rows
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Changed:
    """A body that is read differently now."""

    response: ResponseId
    job: JobId
    attempt: int
    transition: Transition
    seen_seq: int  # of the reading it was compared with
    reading: Reading
    flags_before: frozenset[LossFlag]
    expected: bool
    latency_ms: int | None
    received_ms: int
    imported: bool
    finishes: bool  # no answer stands for its job, and this would be one
    other_token_ids: bool = False  # than those that are stored
    conversation: bool = False  # its job is one of several turns
    turns: tuple[StoredTurn, ...] = ()  # the answers with which its conversation goes on, from its present turn on
    reopens: int | None = None  # the turn at which its conversation, which ended early, goes on after all


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What one transaction writes."""

    changed: Sequence[Changed]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What it came to."""

    overtaken: frozenset[ResponseId]  # read anew by somebody else since they were compared: not written
    finished: int
    reopened: int = 0


async def rewrite(tx: Tx, requests: Sequence[Rewrite]) -> list[Rewritten]:
    """Write new readings; the operation for `Store.write`."""
    await claim_version(tx)
    return [await _rewrite_one(tx, request.changed) for request in requests]


async def _rewrite_one(tx: Tx, changed: Sequence[Changed]) -> Rewritten:
    seen = bind_rows((one.response, one.seen_seq) for one in changed)
    newest = {int(row.response) for row in await tx.rows(statements_stored.still_newest(), {"seen": seen})}
    fresh = [one for one in changed if one.response in newest]
    overtaken = frozenset(one.response for one in changed if one.response not in newest)
    if not fresh:
        return Rewritten(overtaken, 0)
    seq = await tx.seq()
    await tx.many(statements.add_reading(), [reading_row(one.response, seq, one.reading) for one in fresh])
    other_ids = [token_row(one.response, seq, one.reading) for one in fresh if one.other_token_ids]
    await tx.many(statements.add_token_ids(), other_ids)
    await tx.run(
        statements_stored.copy_facts(), {"facts": bind_rows(_facts(one) for one in fresh if not one.conversation)}
    )
    await copy_whole(tx, {one.job for one in fresh if one.conversation and one.transition.accepted})
    finished = await _finish(tx, [one for one in fresh if one.finishes and not one.conversation], seq)
    ended = await take_stored_turns(tx, [one.turns for one in fresh if one.turns])
    reopened = await reopen(tx, {one.job: one.reopens for one in fresh if one.reopens is not None})
    return Rewritten(overtaken, finished + ended, reopened)


async def _finish(tx: Tx, answers: Sequence[Changed], seq: Seq) -> int:
    """Accept the newest of these bodies for each job that still has no answer; how many jobs that finished."""
    newest = {one.job: one for one in sorted(answers, key=lambda one: one.attempt)}
    if not newest:
        return 0
    answers_of = {"answers": bind_rows(_answer(one) for one in newest.values())}
    done = {int(row.id) for row in await tx.rows(statements_stored.accept_stored(), answers_of)}
    accepted = bind_rows((one.response,) for one in newest.values() if one.job in done)
    await tx.run(statements.mark_accepted(), {"responses": accepted, "at_seq": seq})
    return len(done)


def _facts(one: Changed) -> tuple[int | str | None, ...]:
    return one.response, one.job, *copied_facts(one.reading)


def _answer(one: Changed) -> tuple[int | str | None, ...]:
    about = (0, int(one.expected), one.latency_ms, one.received_ms, int(one.imported))
    return one.job, *about, *copied_facts(one.reading)


@dataclass(frozen=True, slots=True)
class End:
    """The end of a reparse that wrote something."""

    dataset: DatasetId
    report: Report


async def note_end(tx: Tx, ends: Sequence[End]) -> list[None]:
    """A line of the audit trail."""
    for end in ends:
        report = end.report
        counts = {"changed": report.changed - report.kept, "regressions": report.regressions, "kept": report.kept}
        counts["reopened"] = report.reopened
        await tx.seq()
        await events.note(tx, "reparsed", dataset=end.dataset, finished=report.finished, **counts)
    return [None] * len(ends)
