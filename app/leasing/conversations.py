"""Jobs of several turns: what the next one is asked with, and what the job says of all of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from app.capture import Form, said
from app.leasing import statements_turns as statements
from app.model.conversation import Conversation, Said
from app.model.errors import IntegrityFailure
from app.model.ids import JobId
from app.model.loss_flags import loaded, stored
from app.model.verdicts import WORST_FIRST, Verdict
from app.store.batch import bind_rows
from app.store.codec import decode_text, unpack
from app.store.transaction import Reads, Tx

Facts = dict[str, Any]
_WORST_FIRST = (Verdict.MALFORMED, *WORST_FIRST)  # a reparse may find an answer to be none
_OF_THE_WORST = (
    "verdict", "expected", "finish_reason", "found", "reasoning_chars", "content_chars", "preview",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A turn of a job of several: the `turn` that is asked, or that a body answers."""

    job: JobId
    script: str  # JSON, as the sample has it
    turns: int
    turn: int


async def conversations_at(reads: Reads, places: Sequence[Place]) -> Mapping[tuple[JobId, int], Conversation]:
    """Each conversation with the answers that it has before that turn."""
    return conversations_of(places, await histories_of(reads, places))


async def histories_of(reads: Reads, places: Sequence[Place]) -> Sequence[Any]:
    """The stored answers before those turns, as `conversations_of` takes them."""
    if not places:
        return ()
    wanted = bind_rows((one.job, one.turn) for one in places)
    return await reads.rows(statements.histories(), {"wanted": wanted})


def conversations_of(places: Sequence[Place], rows: Sequence[Any]) -> Mapping[tuple[JobId, int], Conversation]:
    """`conversations_at` from its rows: bodies are unpacked here, so many of them belong into a thread."""
    by_job = {JobId(job): list(of_job) for job, of_job in groupby(rows, key=lambda row: int(row.job_id))}
    return {(one.job, one.turn): _conversation(one, by_job.get(one.job, ())) for one in places}


def _conversation(place: Place, rows: Sequence[Any]) -> Conversation:
    before = {row.turn: row for row in rows if row.turn < place.turn}
    if sorted(before) != list(range(place.turn)):
        raise IntegrityFailure(
            f"Job {place.job} is at turn {place.turn}, and has the answers of the turns {sorted(before)}. "
            "Run `thinkledger verify`."
        )
    answers = tuple(said_in(before[turn]) for turn in range(place.turn))
    return Conversation(json.loads(place.script), place.turns, answers)


def said_in(row: Any) -> Said:
    """What an answer says by one of its readings."""
    reasoning, content = (decode_text(row.text_form, text) for text in (row.reasoning, row.content))
    body = b"" if row.raw is None else unpack(row.codec, row.raw)
    return said(body, Form(row.form), reasoning, content, row.tool_calls)


async def whole_facts(reads: Reads, jobs: Iterable[JobId]) -> dict[JobId, Facts]:
    """What each of these jobs says of its accepted answers; see `facts_of`."""
    rows = await reads.rows(statements.standing_facts(), {"jobs": bind_rows((job,) for job in jobs)})
    return {JobId(job): facts_of(list(of_job)) for job, of_job in groupby(rows, key=lambda row: int(row.job_id))}


def facts_of(turns: Sequence[Any]) -> Facts:
    """A job speaks by its worst turn, the first of those that are equally bad; tokens and time are of all turns.

    So are the hints at a loss: a turn that is not the worst by its verdict may have lost text all the same.
    """
    worst = worst_of(turns)
    facts = {name: getattr(worst, name) for name in _OF_THE_WORST}
    facts |= {name: _sum(turns, name) for name in ("completion_tokens", "latency_ms")}
    hints = (loaded(turn.loss_flags) for turn in turns)
    return facts | {"loss_flags": stored(frozenset().union(*hints))}


def worst_of(turns: Sequence[Any]) -> Any:
    """The turn that a job speaks by."""
    return turns[0] if len(turns) == 1 else min(turns, key=lambda turn: _WORST_FIRST.index(Verdict(turn.verdict)))


def _sum(turns: Sequence[Any], name: str) -> int | None:
    known = [value for turn in turns if (value := getattr(turn, name)) is not None]
    return sum(known) if known else None


async def go_back_to_standing(tx: Tx, job: JobId) -> Facts:
    """A conversation whose new run failed goes on from the answers that stand; what its job says of them."""
    rows = await tx.rows(statements.standing_facts(), {"jobs": bind_rows([(job,)])})
    await tx.many(statements.take_turn(), [{"job_id": job, "turn": row.turn, "response_id": row.id} for row in rows])
    await tx.run(statements.set_turn(), {"ends": bind_rows([(job, len(rows))])})
    return facts_of(rows)
