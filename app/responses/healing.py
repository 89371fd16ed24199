"""Bodies of conversations that a reparse finds to be answers after all: each goes on from where its job stopped."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.capture import Form, said
from app.leasing.conversations import Place, conversations_at
from app.model.conversation import Conversation
from app.model.ids import DatasetId, JobId, WorkerId
from app.model.lease import Lease
from app.responses.rewriting import Changed
from app.responses.turns import TurnAnswer
from app.store.codec import unpack
from app.store.store import Store

NOBODY = WorkerId(0)  # a job that somebody holds is left to him


async def with_turns(store: Store, rows: Sequence[Any], changed: list[Changed]) -> list[Changed]:
    """The changes, those that answer a turn of a conversation with what the job needs to go on."""
    healed = {one.response for one in changed if one.finishes and one.conversation}
    if not healed:
        return changed
    bodies = {row.id: row for row in rows if row.id in healed}
    places = [Place(JobId(row.job_id), row.messages, row.turns, row.turn) for row in bodies.values()]
    async with store.snapshot() as reads:
        found = await conversations_at(reads, places)
    return [
        _with_turn(one, bodies[one.response], found[one.job, bodies[one.response].turn], store.epoch)
        if one.response in healed
        else one
        for one in changed
    ]


def _with_turn(one: Changed, row: Any, conversation: Conversation, epoch: int) -> Changed:
    reading = one.reading
    answer = said(unpack(row.codec, row.raw), Form(row.form), reading.reasoning, reading.content, reading.tool_calls)
    lease = Lease(one.job, one.attempt, NOBODY, epoch, DatasetId(row.dataset_id))
    return replace(one, turn=TurnAnswer(one.response, lease, row.turn, conversation.is_over_with(answer)))
