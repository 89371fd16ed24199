"""From one turn of a conversation to the next: its lease goes on as long as the worker may ask."""

from collections.abc import Callable
from dataclasses import replace

from app.capture import Form, Reading, said
from app.leasing.claim import Prompt, prompts_of
from app.leasing.release import release
from app.leasing.settle import state_of
from app.model.conversation import Conversation
from app.model.ids import ResponseId
from app.model.lease import Lease
from app.model.states import JobState
from app.responses.turns import TurnAnswer
from app.responses.unread import StoredBody
from app.store.store import Store
from worker.asking import Question
from worker.reading import patiently
from worker.spooling import TROUBLE, Spooling


def turn_asked(
    response: ResponseId, lease: Lease, prompt: Prompt, asked: Question, body: bytes, reading: Reading, now_ms: int
) -> TurnAnswer | None:
    """The answer as that of its turn, where it is one in a conversation; its lease goes on for the next."""
    if prompt.conversation is None:
        return None
    last = _is_last(prompt.conversation, body, asked.form, reading)
    return TurnAnswer(response, lease, prompt.conversation.turn, last, renewed(lease, now_ms).deadline_ms)


def turn_stored(stored: StoredBody, reading: Reading) -> TurnAnswer | None:
    """The same for a body whose asker is gone: whoever claims the job asks the next turn."""
    if stored.turns == 1:
        return None
    before = stored.conversation
    last = before is not None and _is_last(before, stored.body, stored.asked.form, reading)
    return TurnAnswer(stored.response, stored.lease, stored.turn, last)


def _is_last(conversation: Conversation, body: bytes, form: Form, reading: Reading) -> bool:
    return conversation.is_over_with(said(body, form, reading.reasoning, reading.content, reading.tool_calls))


def renewed(lease: Lease, now_ms: int) -> Lease:
    """The lease for the next turn: as long as it was, and what was counted is that of the turn before."""
    since_ms = now_ms if lease.leased_ms is None else lease.leased_ms
    return replace(lease, tries=0, deaths=0, deadline_ms=now_ms + lease.deadline_ms - since_ms, leased_ms=now_ms)


async def state_after(answer: TurnAnswer, store: Store, spooling: Spooling) -> JobState | None:
    """Where a conversation is once it has gone on from an answer; None where it has not, or its lease is another's.

    The store is asked whatever settling said: a commit can be reported as failed and be done all the same. Repeated, it
    finds nothing to do, and says of an answer that was taken that it was not.
    """
    return await patiently(lambda: state_of(store, answer.lease, from_turn=answer.turn + 1), spooling.ending)


async def next_turn(
    lease: Lease, store: Store, spooling: Spooling, may_ask: Callable[[], bool]
) -> tuple[Lease, Prompt] | None:
    """What the holder of a lease asks next; None: it may ask no more, and the lease is given back."""
    try:
        prompt = (await prompts_of(store, [lease]))[lease.job]
    except TROUBLE:
        prompt = None
    if prompt is None or prompt.held or not may_ask():
        await spooling.persist(release, lease)
        return None
    return renewed(lease, store.now_ms()), prompt
