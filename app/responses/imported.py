"""Answers that an earlier tool had: kept verbatim, read by our parser, and accepted as if a worker had brought them.

An import claims and answers in one step: the attempt grows, so nobody else's answer can be taken for it. Such answers
come from no worker and no endpoint, so they count into no rate and no gate.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.capture import Asked, Form, Reading, read_body, said
from app.model.config import DatasetConfig
from app.model.conversation import Said
from app.model.ids import JobId, ResponseId
from app.model.old_answer import OldAnswer
from app.model.verdicts import Verdict
from app.responses import statements, statements_stored
from app.responses.keep import body_row
from app.responses.read import copied_facts, has_token_ids, reading_row, token_row
from app.responses.turns import take_conversations
from app.responses.unread import prompt_text
from app.responses.versions import claim_version
from app.store.batch import bind_rows
from app.store.codec import Packed, pack
from app.store.transaction import Tx

# All rows of one statement have the same columns.
NOT_SAID = {
    "content_type": None, "request_id": None, "request": None, "request_sha256": None, "requested_ms": None,
    "raw_text_sent": 0,
}  # fmt: skip


Bodies = tuple[str, ...]  # the hash of a body for each turn


@dataclass(frozen=True, slots=True)
class Result:
    """One row of an old run: its very bytes, and what our parser sees in them."""

    packed: Packed
    reading: Reading
    expected: bool
    profile: str
    answer: OldAnswer
    earlier: tuple["Result", ...] | None = None  # of a conversation: the turns before

    @property
    def turns(self) -> tuple["Result", ...]:
        """The answers of all its turns; most have one."""
        return (self,) if self.earlier is None else (*self.earlier, self)

    @property
    def bodies(self) -> Bodies:
        """The hashes of its bodies by turn, which tell it from another result of its job."""
        return tuple(turn.packed.raw_sha256 for turn in self.turns)

    @property
    def said(self) -> Said:
        """It as a message of its conversation's history."""
        reading = self.reading
        form = Form(self.answer.form)
        return said(self.answer.body, form, reading.reasoning, reading.content, reading.tool_calls)

    @property
    def readable(self) -> bool:
        return all(turn.reading.verdict is not Verdict.MALFORMED for turn in self.turns)


@dataclass(frozen=True, slots=True)
class JobResult:
    """A result and the job that it is for."""

    job: JobId
    result: Result


def read_result(answer: OldAnswer, messages: str, config: DatasetConfig) -> Result:
    """Read an answer of an old run; where it does not say how it was asked, by the settings of its dataset."""
    expected = config.expected if answer.expected is None else answer.expected
    profile = config.profile if answer.profile is None else answer.profile
    about = Asked(None if expected else False, profile, prompt_text(messages), Form(answer.form))
    reading = read_body(answer.http_status, answer.body, about)
    before = answer.earlier
    earlier = None if before is None else tuple(read_result(one, messages, config) for one in before)
    return Result(pack(answer.body), reading, expected, profile, answer, earlier)


async def known_bodies(tx: Tx, results: Sequence[JobResult]) -> set[JobId]:
    """The jobs that have this very result already: of a conversation, the body of each of its turns."""
    bodies = bind_rows((one.job, turn, sha256) for one in results for turn, sha256 in enumerate(one.result.bodies))
    stored = Counter(JobId(row.job) for row in await tx.rows(statements_stored.known_bodies(), {"bodies": bodies}))
    return {one.job for one in results if stored[one.job] == len(one.result.bodies)}


async def take_results(tx: Tx, results: Sequence[JobResult]) -> set[JobId]:
    """Store results, one a job at most; the jobs that had no answer and took theirs. A malformed one finishes none."""
    if not results:
        return set()
    await claim_version(tx)
    attempts = await _accept(tx, [one for one in results if one.result.readable])
    attempts |= await _count(tx, [one for one in results if not one.result.readable])
    taken = [one for one in results if one.job in attempts]
    if taken:
        await _store(tx, taken, attempts)
    return set(attempts)


async def _accept(tx: Tx, answers: Sequence[JobResult]) -> dict[JobId, int]:
    rows = bind_rows(
        (one.job, 1, int(one.result.expected), one.result.answer.latency_ms, tx.now_ms, 1, *_facts(one))
        for one in answers
    )
    done = await tx.rows(statements_stored.accept_stored(), {"answers": rows})
    return {JobId(row.id): row.attempt for row in done}


def _facts(one: JobResult) -> tuple[int | str | None, ...]:
    return copied_facts(one.result.reading)


async def _count(tx: Tx, malformed: Sequence[JobResult]) -> dict[JobId, int]:
    rows = await tx.rows(statements_stored.count_attempt(), {"jobs": bind_rows((one.job,) for one in malformed)})
    return {JobId(row.id): row.attempt for row in rows}


async def _store(tx: Tx, taken: Sequence[JobResult], attempts: dict[JobId, int]) -> None:
    seq = await tx.seq()
    turns = [(one.job, turn, result) for one in taken for turn, result in enumerate(one.result.turns)]
    stands = {one.job: seq if one.result.readable else None for one in taken}
    responses = [_response(job, turn, result, attempts[job], stands[job], tx.now_ms) for job, turn, result in turns]
    await tx.many(statements.keep_response(), responses)
    keys = bind_rows((job, attempts[job], turn) for job, turn, _ in turns)
    numbers = {(row.job_id, row.turn): row.id for row in await tx.rows(statements.stored(), {"kept": keys})}
    bodies = [body_row(ResponseId(numbers[job, turn]), result.packed) for job, turn, result in turns]
    await tx.many(statements.keep_body(), bodies)
    readings = [reading_row(numbers[job, turn], seq, result.reading) for job, turn, result in turns]
    await tx.many(statements.add_reading(), readings)
    tokens = [
        token_row(ResponseId(numbers[job, turn]), seq, result.reading)
        for job, turn, result in turns
        if has_token_ids(result.reading)
    ]
    await tx.many(statements.add_token_ids(), tokens)
    talks = {one.job: len(one.result.turns) for one in taken if one.result.earlier is not None and one.result.readable}
    await take_conversations(tx, talks, numbers)


def _response(
    job: JobId, turn: int, result: Result, attempt: int, accepted_seq: int | None, now_ms: int
) -> dict[str, Any]:
    packed = result.packed
    return {
        "job_id": job,
        "attempt": attempt,
        "turn": turn,
        "accepted_seq": accepted_seq,
        "form": result.answer.form,
        "http_status": result.answer.http_status,
        "expected": int(result.expected),
        "profile": result.profile,
        "raw_bytes": packed.raw_bytes,
        "raw_sha256": packed.raw_sha256,
    } | {**NOT_SAID, "received_ms": now_ms, **result.answer.facts}
