"""The second half: a stored body is read, its reading stored, and its job finished, in one transaction."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from app.capture import PARSER_VERSION, Reading, Usage
from app.gates.watching import Came, watch_answers
from app.leasing.settle import fail
from app.model.gates import outcome_of
from app.model.ids import EndpointId, ResponseId
from app.model.lease import Failure, Lease
from app.model.loss_flags import stored
from app.model.verdicts import Verdict
from app.responses import statements
from app.responses.turns import TurnAnswer, take_turns
from app.responses.versions import claim_version
from app.store.batch import bind_rows
from app.store.beside import beside_others
from app.store.codec import encode_texts, pack_ids
from app.store.transaction import Tx

PREVIEW_CHARS = 100
FINISH_CHARS = 100  # of a finish reason, which indexes hold: a row of one takes 2,700 bytes on PostgreSQL
MOST_TOKENS = 2**40  # more is no count, and three million of them still add up in the 63 bits of a counter
_USAGE = tuple(one.name for one in fields(Usage))
Facts = dict[str, Any]  # a row, by the names of its columns
_ODD = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Judged:
    """A stored response with its reading, and where a malformed one sends its job."""

    response: ResponseId
    lease: Lease
    reading: Reading
    expected: bool
    latency_ms: int | None
    failure: Failure | None = None  # of a malformed reading only
    endpoint: EndpointId | None = None  # which server sent it; None: imported, and in nobody's window
    turn: TurnAnswer | None = None  # of a readable answer in a conversation
    facts: Facts = field(init=False, repr=False, compare=False)  # made here, so that no one waits for the lock for it

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", reading_facts(self.reading))


@beside_others
async def settle(tx: Tx, judged: Sequence[Judged]) -> list[bool]:
    """Whether each response was accepted. One that was read before changes nothing and counts as not accepted."""
    params = {"responses": bind_rows([(one.response,) for one in judged])}
    fresh = {int(row.response_id) for row in await tx.rows(statements.take_unread(), params)}
    new = [one for one in judged if one.response in fresh]
    if not new:
        return [False] * len(judged)
    await claim_version(tx)
    seq = await tx.seq()
    rows = {one.response: {"response_id": one.response, "seq": seq, **one.facts} for one in new}
    await tx.many(statements.add_reading(), list(rows.values()))
    await tx.many(
        statements.add_token_ids(),
        [token_row(one.response, seq, one.reading) for one in new if has_token_ids(one.reading)],
    )
    readable = [one for one in new if one.reading.verdict is not Verdict.MALFORMED]
    accepted = await _accept(tx, [one for one in readable if one.turn is None], rows)
    accepted |= await take_turns(tx, [one.turn for one in readable if one.turn is not None])
    await fail(tx, [one.failure for one in new if one.failure is not None])
    await watch_answers(tx, [came for one in new if (came := _came(one)) is not None])
    return [one.response in accepted for one in judged]


async def _accept(tx: Tx, answers: Sequence[Judged], readings: Mapping[ResponseId, Facts]) -> set[ResponseId]:
    """Finish the jobs whose newest attempt these answers are; the other answers are kept as late."""
    if not answers:
        return set()
    facts = bind_rows([_job_facts(one, readings[one.response]) for one in answers])
    params = {"answers": facts, "now_ms": tx.now_ms}
    done = {int(row.id): int(row.attempt) for row in await tx.rows(statements.accept(), params)}
    accepted = {one.response for one in answers if done.get(one.lease.job) == one.lease.attempt}
    late = [(one.response,) for one in answers if one.response not in accepted]
    if done:
        at_seq = await tx.seq()
        again = sorted(job for job, attempt in done.items() if attempt > 1)  # nothing stands before a first attempt
        if again:
            await tx.run(statements.supersede(), {"jobs": bind_rows([(job,) for job in again]), "at_seq": at_seq})
        numbers = bind_rows([(response,) for response in sorted(accepted)])
        await tx.run(statements.mark_accepted(), {"responses": numbers, "at_seq": at_seq})
    if late:
        await tx.run(statements.mark_late(), {"responses": bind_rows(late)})
    return accepted


def _came(one: Judged) -> Came | None:
    """What an answer says about its server; None where it says nothing, or where there was none.

    A job whose failures were counted failed while the server answered others: its next body that is none says the same
    of the job again, and nothing new of the server. Else the last bad prompts of a run would hold it for ever.
    """
    if one.reading.verdict is Verdict.MALFORMED and one.lease.tries > 0:
        return None
    outcome = outcome_of(one.reading.verdict, expected=one.expected, flags=one.reading.flags)
    if outcome is None or one.endpoint is None:
        return None
    return Came(one.lease.dataset, one.endpoint, outcome)


def _job_facts(one: Judged, of: Facts) -> tuple[int | str | None, ...]:
    """What a job says of its answer, taken from the row of the reading, so that it is worked out once."""
    lease = one.lease
    return (
        lease.job, lease.attempt, lease.worker, of["verdict"], int(one.expected), of["finish_reason"], of["found"],
        of["reasoning_chars"], of["content_chars"], of["completion_tokens"], one.latency_ms, of["preview"],
        of["loss_flags"], lease.epoch,
    )  # fmt: skip


def reading_row(response: ResponseId, seq: int, reading: Reading) -> Facts:
    """A reading as it is stored."""
    return {"response_id": response, "seq": seq, **reading_facts(reading)}


def reading_facts(reading: Reading) -> Facts:
    """All columns of a stored reading that it decides itself."""
    text_form, (reasoning, content) = encode_texts(reading.reasoning, reading.content)
    several = [_choice(choice) for choice in reading.choices] if len(reading.choices) > 1 else None
    return {
        "parser_version": PARSER_VERSION,
        "verdict": reading.verdict.value,  # a plain text: SQLite's driver asks every other type for an adapter
        "flags": json.dumps(sorted(reading.flags)) if reading.flags else "[]",
        "loss_flags": stored(reading.loss_flags),
        "found": None if reading.found is None else reading.found.value,
        "reasoning": reasoning,
        "content": content,
        "text_form": text_form,
        "reasoning_chars": chars(reading.reasoning),
        "content_chars": chars(reading.content),
        "completion_tokens": _completion_tokens(reading),
        "preview": preview(reading),
        "tool_calls": reading.tool_calls,
        "finish_reason": _finish_reason(reading),
        "usage": None if reading.usage is None else json.dumps(_counts(reading.usage)),
        "parts": None if reading.parts is None else json.dumps([*reading.parts[:2], reading.parts[3]]),
        "choices": None if several is None else json.dumps(several),
    }


def _counts(usage: Usage) -> dict[str, int | None]:
    """The fields of a usage. `asdict` copies each value deeply, a tenth of what it takes to make a row."""
    return {name: getattr(usage, name) for name in _USAGE}


def _choice(choice: Any) -> dict[str, Any]:
    return {
        "index": choice.index, "reasoning": choice.reasoning, "content": choice.content,
        "tool_calls": choice.tool_calls, "verdict": choice.verdict,
    }  # fmt: skip


def copied_facts(reading: Reading) -> tuple[int | str | None, ...]:
    """What a job copies of a reading: verdict, finish reason, lengths, tokens, preview and hints at a loss."""
    lengths = (chars(reading.reasoning), chars(reading.content), _completion_tokens(reading))
    return (
        reading.verdict, _finish_reason(reading), reading.found, *lengths, preview(reading),
        stored(reading.loss_flags),
    )  # fmt: skip


def has_token_ids(reading: Reading) -> bool:
    """Whether the server said token ids of prompt or answer."""
    return reading.token_ids is not None or reading.prompt_token_ids is not None


def token_row(response: ResponseId, seq: int, reading: Reading) -> dict[str, Any]:
    """The server's token ids as they are stored."""
    return {
        "response_id": response,
        "seq": seq,
        "prompt": pack_ids(reading.prompt_token_ids),
        "answer": pack_ids(reading.token_ids),
    }


def _completion_tokens(reading: Reading) -> int | None:
    """The count where it can be one; `usage` keeps what the server said."""
    tokens = None if reading.usage is None else reading.usage.completion_tokens
    return None if tokens is None or tokens > MOST_TOKENS else tokens


def chars(text: str | None) -> int | None:
    """Code points of a text; None for none."""
    return None if text is None else len(text)


def preview(reading: Reading) -> str | None:
    """The first characters of the content, for lists."""
    return None if reading.content is None else plain(reading.content[:PREVIEW_CHARS])


def _finish_reason(reading: Reading) -> str | None:
    """The reason; of one that is no word but a text the beginning, and the body keeps the rest."""
    return None if reading.finish_reason is None else plain(reading.finish_reason[:FINISH_CHARS])


def plain(text: str | None) -> str | None:
    """A short text that SQLite can hold and compare: a NUL or a lone surrogate is shown as U+FFFD."""
    if text is None:
        return None
    return _ODD.sub("\N{REPLACEMENT CHARACTER}", text)
