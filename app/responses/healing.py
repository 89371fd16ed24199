"""Conversations that go on by what a reparse finds: with answers that were taken for none, or past an early end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from anyio import to_thread

from app.capture import Form, said
from app.leasing.conversations import Place, conversations_of, histories_of
from app.model.conversation import Conversation, Said
from app.model.ids import DatasetId, JobId, ResponseId, WorkerId
from app.model.lease import Lease
from app.model.request_hash import was_sent
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.responses.rewriting import Changed
from app.responses.turns import StoredTurn, TurnAnswer
from app.store.codec import decode_text, unpack
from app.store.store import Store

NOBODY = WorkerId(0)  # a job that somebody holds is left to him


@dataclass(frozen=True, slots=True)
class _Talk:
    """The stored bodies of one conversation, in the order of attempts and turns, and those that are read otherwise."""

    rows: Sequence[Any]
    changed: Mapping[ResponseId, Changed]

    @property
    def place(self) -> Place:
        """Where it stands, or for one that ended early, its end."""
        row = self.rows[0]
        ended = row.state == JobState.DONE
        return Place(JobId(row.job_id), row.messages, row.turns, row.at_turn - 1 if ended else row.at_turn)

    def verdict(self, row: Any) -> Verdict:
        changed = self.changed.get(row.id)
        return Verdict(row.verdict) if changed is None else changed.reading.verdict

    def said(self, row: Any) -> Said:
        """What an answer says by its newest reading."""
        changed = self.changed.get(row.id)
        if changed is None:
            return said_before(row)
        reading = changed.reading
        return said(unpack(row.codec, row.raw), Form(row.form), reading.reasoning, reading.content, reading.tool_calls)


def said_before(row: Any) -> Said:
    """What an answer says by the reading that is stored."""
    reasoning, content = (decode_text(row.text_form, text) for text in (row.reasoning, row.content))
    return said(unpack(row.codec, row.raw), Form(row.form), reasoning, content, row.tool_calls)


async def with_turns(store: Store, rows: Sequence[Any], changed: list[Changed]) -> list[Changed]:
    """The changes, one of each conversation that goes on by them with what it needs for that.

    Bodies are unpacked and requests hashed in a thread: of a batch that takes longer than an event loop may stand.
    """
    talks = list(_concerned(rows, {one.response: one for one in changed if one.conversation}))
    if not talks:
        return changed
    async with store.snapshot() as reads:
        histories = await histories_of(reads, [talk.place for talk in talks])
    going_on = await to_thread.run_sync(_all_going_on, talks, histories, store.epoch)
    return [going_on.get(one.response) or one for one in changed]


def _all_going_on(talks: Sequence[_Talk], histories: Sequence[Any], epoch: int) -> dict[ResponseId, Changed]:
    found = conversations_of([talk.place for talk in talks], histories)
    return dict(_going_on(talk, found[talk.place.job, talk.place.turn], epoch) for talk in talks)


def _concerned(rows: Sequence[Any], changed: Mapping[ResponseId, Changed]) -> Iterator[_Talk]:
    """Conversations without an answer of which a body is one now, and those whose early end is read otherwise."""
    by_job = sorted(rows, key=lambda row: (row.job_id, row.id))
    for _, of_job in groupby(by_job, key=lambda row: row.job_id):
        bodies = list(of_job)
        anew = {one.response: one for body in bodies if (one := changed.get(body.id)) is not None}
        if any(one.finishes for one in anew.values()) or any(_is_early_end(body) for body in bodies if body.id in anew):
            yield _Talk(bodies, anew)


def _is_early_end(row: Any) -> bool:
    return bool(row.stands) and row.state == JobState.DONE and row.turn + 1 == row.at_turn < row.turns


def _going_on(talk: _Talk, conversation: Conversation, epoch: int) -> tuple[ResponseId, Changed]:
    """One of the changes of a conversation, with how it goes on."""
    if talk.rows[0].state == JobState.DONE:
        return _past_its_end(talk, conversation)
    one = next(change for change in talk.changed.values() if change.finishes)
    return one.response, replace(one, turns=tuple(_next_turns(talk, conversation, epoch)))


def _past_its_end(talk: _Talk, conversation: Conversation) -> tuple[ResponseId, Changed]:
    end = next(row for row in talk.rows if row.id in talk.changed and _is_early_end(row))
    one = talk.changed[end.id]
    over = one.reading.verdict is Verdict.MALFORMED or conversation.is_over_with(talk.said(end))
    return one.response, one if over else replace(one, reopens=end.at_turn)


def _next_turns(talk: _Talk, conversation: Conversation, epoch: int) -> Iterator[StoredTurn]:
    """The stored answers to its next turns, as far as each was given to what stands before it."""
    while (row := _answer(talk, conversation)) is not None:
        answer = talk.said(row)
        last = conversation.is_over_with(answer)
        lease = Lease(JobId(row.job_id), row.job_attempt, NOBODY, epoch, DatasetId(row.dataset_id))
        taken = TurnAnswer(ResponseId(row.id), lease, conversation.turn, last)
        yield StoredTurn(taken, row.received_ms, row.worker_id is None)
        if last:
            return
        conversation = replace(conversation, answers=(*conversation.answers, answer))


def _answer(talk: _Talk, conversation: Conversation) -> Any | None:
    """The newest readable answer to the turn that is asked next. One of an older attempt must say what it was asked.

    What a retry or a cancel has put aside comes back by no reparse.
    """
    prompt = conversation.prompt()
    if prompt is None:
        return None
    for row in reversed(talk.rows):
        if row.turn != conversation.turn or row.superseded_seq is not None or talk.verdict(row) is Verdict.MALFORMED:
            continue
        asked_so = was_sent(prompt, row.tools, row.request, row.request_sha256)
        if asked_so or (asked_so is None and row.attempt == row.job_attempt):
            return row
    return None
