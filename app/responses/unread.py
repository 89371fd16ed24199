"""Bodies that were stored and not yet read: what a reading of them depends on, and who they belong to."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import zstandard
from anyio import to_thread

from app.capture import Asked, Form, Reading, read_body
from app.leasing.conversations import Place, conversations_at
from app.model.conversation import Conversation, words_of
from app.model.errors import UsageError
from app.model.ids import DatasetId, EndpointId, JobId, ResponseId, WorkerId
from app.model.lease import Lease
from app.model.verdicts import Verdict
from app.responses import statements
from app.store.batch import bind_rows
from app.store.codec import unpack
from app.store.store import Store


@dataclass(frozen=True, slots=True)
class StoredBody:
    """A stored body with all that a reading depends on."""

    response: ResponseId
    lease: Lease  # the one it came under
    http_status: int | None
    body: bytes
    asked: Asked
    latency_ms: int | None
    endpoint: EndpointId | None
    turn: int = 0
    turns: int = 1  # of its job
    fault: str | None = None  # why it cannot be read at all: then `body` and `asked` say nothing
    conversation: Conversation | None = None  # before this answer; None also where its job has not come to that turn

    def read(self) -> Reading:
        """What the present parser sees in it."""
        return UNREADABLE if self.fault is not None else read_body(self.http_status, self.body, self.asked)


def prompt_text(messages: str) -> str:
    """The text of a prompt, in which a reading looks for tags that an answer may echo. `messages` is the JSON list."""
    return words_of(json.loads(messages))


UNREADABLE = Reading(Verdict.MALFORMED, frozenset({"unreadable"}))


def opened(row: Any) -> tuple[bytes, Asked] | str:
    """The bytes of a stored response and what it was asked with; or why they cannot be had: an odd row is a fault of
    its own, which a newer version may understand, and no reason to stop or to keep its job waiting."""
    try:
        thinking = None if row.expected else False
        return unpack(row.codec, row.raw), Asked(thinking, row.profile, prompt_text(row.messages), _form(row.form))
    except (UsageError, zstandard.ZstdError) as error:
        return f"the stored body cannot be read: {error}"


def _form(text: str) -> Form:
    try:
        return Form(text)
    except ValueError as error:
        raise UsageError(f"A body has the form {text!r}, of which this version knows nothing.") from error


async def orphaned(store: Store) -> list[ResponseId]:
    """Unread responses whose worker is gone. Reading one twice is harmless: the second reading changes nothing."""
    async with store.snapshot() as reads:
        return [ResponseId(row.response_id) for row in await reads.rows(statements.orphaned())]


async def load_bodies(store: Store, responses: Iterable[ResponseId], reader: WorkerId) -> Sequence[StoredBody]:
    """The stored bodies, to be read and settled by `reader`; they are unpacked in a thread."""
    params = {"responses": bind_rows([(response,) for response in responses])}
    async with store.snapshot() as reads:
        rows = await reads.rows(statements.to_read(), params)
        conversations = await conversations_at(reads, _places(rows))

    def made() -> list[StoredBody]:
        return [_body(row, store.epoch, reader, conversations.get((JobId(row.job_id), row.turn))) for row in rows]

    return await to_thread.run_sync(made)


def _body(row: Any, epoch: int, reader: WorkerId, conversation: Conversation | None) -> StoredBody:
    found = opened(row)
    worker = WorkerId(row.worker_id or reader)
    return StoredBody(
        response=ResponseId(row.id),
        lease=Lease(JobId(row.job_id), row.attempt, worker, epoch, DatasetId(row.dataset_id), row.tries),
        http_status=row.http_status,
        body=b"" if isinstance(found, str) else found[0],
        asked=Asked() if isinstance(found, str) else found[1],
        fault=found if isinstance(found, str) else None,
        latency_ms=None if row.requested_ms is None else row.received_ms - row.requested_ms,
        endpoint=None if row.endpoint_id is None else EndpointId(row.endpoint_id),
        turn=row.turn,
        turns=row.turns,
        conversation=conversation,
    )


def _places(rows: Iterable[Any]) -> list[Place]:
    """The turns that bodies answer and that their jobs have come to; any other is late, whatever is in it."""
    return [
        Place(JobId(row.job_id), row.messages, row.turns, row.turn)
        for row in rows
        if row.turns > 1 and row.turn <= row.at_turn
    ]
