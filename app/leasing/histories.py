"""What the turns of conversations were really asked after: rebuilt from the readings of then, told by the hash.

Histories are made of readings, and a reading may change after later turns were asked. None is ever removed, so what
was sent can be found again: it is the history as of some reading, and the hash of the request says which.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from app.leasing import statements_turns as statements
from app.leasing.conversations import Place, said_in
from app.model.conversation import Message, Said, next_prompt
from app.model.ids import JobId
from app.model.request_hash import was_sent
from app.store.batch import bind_rows
from app.store.transaction import Reads


@dataclass(frozen=True, slots=True)
class Sent:
    """What one answered turn was asked with; where no hash of its request is known, the history as it is read now.

    `messages` is None where the request was none of the histories that the store knows.
    """

    turn: int
    messages: Sequence[Message] | None
    answers: Sequence[Said] = ()  # as they were read then


@dataclass(frozen=True, slots=True)
class Told:
    """An answered turn: how it was asked, and every reading of its answer by its number."""

    request: str | None
    sha256: str | None
    readings: Sequence[tuple[int, Said]]


async def histories(
    reads: Reads, places: Sequence[Place], tools: Mapping[JobId, str | None]
) -> dict[JobId, list[Sent]]:
    """What each answered turn of these conversations was asked with, before the turns of the places."""
    wanted = bind_rows((one.job, one.turn) for one in places)
    rows = await reads.rows(statements.every_reading(), {"wanted": wanted})
    by_job = {JobId(job): _turns(of_job) for job, of_job in groupby(rows, key=lambda row: int(row.job_id))}
    return {one.job: sent_in(json.loads(one.script), tools[one.job], by_job.get(one.job, [])) for one in places}


def _turns(rows: Iterable[Any]) -> list[Told]:
    turns = [list(of_turn) for _, of_turn in groupby(rows, key=lambda row: row.turn)]
    return [Told(of[0].request, of[0].request_sha256, [(row.seq, said_in(row)) for row in of]) for of in turns]


def sent_in(script: Sequence[Message], tools: str | None, turns: Sequence[Told]) -> list[Sent]:
    """What each of these turns was asked with. Pure."""
    return [_sent(script, tools, turns[:number], one) for number, one in enumerate(turns)]


def _sent(script: Sequence[Message], tools: str | None, before: Sequence[Told], turn: Told) -> Sent:
    number = len(before)
    for answers in _as_of_each(before):
        messages = next_prompt(script, answers)
        if messages is None:
            continue
        if was_sent(messages, tools, turn.request, turn.sha256) is not False:
            return Sent(number, messages, answers)
    return Sent(number, None)


def _as_of_each(turns: Sequence[Told]) -> Iterable[list[Said]]:
    """The answers of these turns as of each reading of one of them, those of now first."""
    seqs = sorted({seq for turn in turns for seq, _ in turn.readings}, reverse=True)
    for as_of in seqs if turns else (0,):
        known = [[said for seq, said in turn.readings if seq <= as_of] for turn in turns]
        if all(known):
            yield [of_turn[-1] for of_turn in known]
