"""Conversations in a store, moved one answer at a time as a worker does it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.capture import Asked, Form, read_body, said
from app.intake.importing import import_file
from app.intake.normal import Turns
from app.intake.request import ImportRequest
from app.intake.rows import Reading
from app.leasing.claim import Prompt, prompts_of
from app.leasing.retry import Retry, Selection, retry, select
from app.model.conversation import as_sent
from app.model.ids import DatasetId, JobId, ResponseId
from app.model.lease import Failure, Lease, Reply
from app.model.loss_flags import LossFlag
from app.model.request_hash import request_sha256
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.responses.keep import PackedReply, keep
from app.responses.read import Judged, settle
from app.responses.turns import TurnAnswer
from app.store.codec import pack
from app.verify.verifying import Told, verify
from tests.integration.leasing.kit import Room, open_room
from tests.support.filled import chat

DATASET = DatasetId(1)


@dataclass
class Talks:
    """An open store with conversations; `room` moves its leases."""

    room: Room
    bodies: dict[ResponseId, bytes] = field(default_factory=dict)

    async def prompt(self, lease: Lease) -> Prompt:
        return (await prompts_of(self.room.store, [lease]))[lease.job]

    async def sent(self, lease: Lease) -> list[str]:
        """The contents of the messages that are sent for the next turn."""
        prompt = await self.prompt(lease)
        assert prompt.conversation is not None
        return [message["content"] for message in prompt.conversation.prompt() or []]

    async def keep(self, lease: Lease, body: bytes, turn: int) -> ResponseId:
        """The first half of an answer to a turn."""
        response = await self.room.store.write(keep, PackedReply(await self.reply(lease, body, turn), pack(body)))
        self.bodies[response] = body
        return response

    async def reply(self, lease: Lease, body: bytes, turn: int) -> Reply:
        """An answer as it came, with the hash of what it was asked with."""
        prompt = await self.prompt(lease)
        history = None if prompt.conversation is None else prompt.conversation.prompt()
        asked = {} if history is None else {"messages": as_sent(history)}
        tools = {} if prompt.tools is None else {"tools": json.loads(prompt.tools)}
        now_ms = self.room.clock.ms
        return Reply(
            lease=lease, body=body, http_status=200, requested_ms=now_ms - 5, received_ms=now_ms, form="chat",
            request="{}", request_sha256=request_sha256(asked | tools), expected=True, profile="think",
            raw_text_sent=False, turn=turn,
        )  # fmt: skip

    async def judged(
        self, response: ResponseId, lease: Lease, turn: int, *, holds: bool = True, failure: Failure | None = None
    ) -> Judged:
        """A stored body as its reader settles it; `holds`: the reader is the one who asks the next turn."""
        body = self.bodies[response]
        reading, taken = read_body(200, body, Asked()), None
        if reading.verdict is not Verdict.MALFORMED:
            conversation = (await self.prompt(lease)).conversation
            answer = said(body, Form.CHAT, reading.reasoning, reading.content, reading.tool_calls)
            last = conversation is not None and conversation.turn == turn and conversation.is_over_with(answer)
            until_ms = self.room.clock.ms + 60_000 if holds else None
            taken = TurnAnswer(response, lease, turn, last, until_ms)
        return Judged(response, lease, reading, expected=True, latency_ms=5, failure=failure, turn=taken)

    async def answer(self, lease: Lease, turn: int, words: str | bytes, *, holds: bool = True) -> bool:
        """An answer to a turn from its first to its last step; whether it was taken."""
        body = words if isinstance(words, bytes) else chat(f"thought of {words}</think>{words}")
        return await self.settle(await self.keep(lease, body, turn), lease, turn, holds=holds)

    async def settle(
        self, response: ResponseId, lease: Lease, turn: int, *, holds: bool = True, failure: Failure | None = None
    ) -> bool:
        """The second half."""
        judged = await self.judged(response, lease, turn, holds=holds, failure=failure)
        return await self.room.store.write(settle, judged)

    async def job(self, job: JobId) -> tuple[str, int]:
        """Its state and its turn."""
        row = await self.room.job(job)
        return row.state, row.turn

    async def standing(self, job: JobId) -> list[tuple[int, str]]:
        """The accepted answers by turn."""
        rows = await self.room.all(
            f"SELECT turn, content FROM answer WHERE sample_id = (SELECT sample_id FROM job WHERE id = {int(job)})"
            " ORDER BY turn"
        )
        return [(turn, content) for turn, content in rows]

    async def retry(self, state: str, verdict: str | None = None, flag: LossFlag | None = None) -> None:
        """A person asks the one job of that state, and verdict or hint, anew."""
        chosen = Selection((JobState(state),), () if verdict is None else (Verdict(verdict),), flag=flag)
        found = await select(self.room.store, DATASET, chosen)
        assert await retry(self.room.store, Retry(DATASET, chosen), found) == 1

    async def check(self) -> None:
        """`verify --full` finds nothing."""
        found: list[Any] = []
        await verify(self.room.store, Told(found.append), full=True)
        assert found == []


@asynccontextmanager
async def talks(folder: Path, *turns: int) -> AsyncIterator[Talks]:
    """A store with a dataset `talks`: one conversation `cN` for each number of turns."""
    file = folder / "talks.jsonl"
    with file.open("w") as out:
        for number, count in enumerate(turns):
            said_by = [{"from": who, "value": f"{who} {turn}"} for turn in range(count) for who in ("human", "gpt")]
            out.write(json.dumps({"id": f"c{number}", "conversations": said_by}) + "\n")
    async with open_room(folder / "t.db") as room:
        request = ImportRequest("talks", str(file), Reading(turns=Turns.ALL), max_attempts=3)
        await import_file(room.store, request, lambda _progress: None)
        yield Talks(room)
