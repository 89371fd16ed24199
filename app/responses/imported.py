"""Answers that an earlier tool had: kept verbatim, read by our parser, and accepted as if a worker had brought them.

An import claims and answers in one step: the attempt grows, so nobody else's answer can be taken for it. Such answers
come from no worker and no endpoint, so they count into no rate and no gate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.capture import Asked, Form, Reading, read_body
from app.model.config import DatasetConfig
from app.model.ids import JobId
from app.model.old_answer import OldAnswer
from app.model.verdicts import Verdict
from app.responses import statements
from app.responses.read import copied_facts, reading_row, token_row
from app.responses.unread import prompt_text
from app.responses.versions import claim_version
from app.store.batch import bind_rows
from app.store.codec import Packed, pack
from app.store.transaction import Tx

# All rows of one statement have the same columns.
NOT_SAID = {"content_type": None, "request_id": None, "request": None, "requested_ms": None, "raw_text_sent": 0}


@dataclass(frozen=True, slots=True)
class Result:
    """One row of an old run: its very bytes, and what our parser sees in them."""

    packed: Packed
    reading: Reading
    expected: bool
    profile: str
    answer: OldAnswer

    @property
    def readable(self) -> bool:
        return self.reading.verdict is not Verdict.MALFORMED

    @property
    def latency_ms(self) -> int | None:
        """How long it took, where its row says so, as an archive of ours does."""
        sent, came = (self.answer.facts.get(name) for name in ("requested_ms", "received_ms"))
        return came - sent if isinstance(sent, int) and isinstance(came, int) else None


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
    return Result(pack(answer.body), read_body(answer.http_status, answer.body, about), expected, profile, answer)


async def known_bodies(tx: Tx, results: Iterable[JobResult]) -> set[JobId]:
    """The jobs that have this very body already."""
    bodies = bind_rows((one.job, one.result.packed.raw_sha256) for one in results)
    return {JobId(row.job) for row in await tx.rows(statements.known_bodies(), {"bodies": bodies})}


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
        (one.job, 1, int(one.result.expected), one.result.latency_ms, tx.now_ms, 1, *_facts(one)) for one in answers
    )
    done = await tx.rows(statements.accept_stored(), {"answers": rows})
    return {JobId(row.id): row.attempt for row in done}


def _facts(one: JobResult) -> tuple[int | str | None, ...]:
    return copied_facts(one.result.reading)


async def _count(tx: Tx, malformed: Sequence[JobResult]) -> dict[JobId, int]:
    rows = await tx.rows(statements.count_attempt(), {"jobs": bind_rows((one.job,) for one in malformed)})
    return {JobId(row.id): row.attempt for row in rows}


async def _store(tx: Tx, taken: Sequence[JobResult], attempts: dict[JobId, int]) -> None:
    seq = await tx.seq()
    responses = [_response(one, attempts[one.job], seq, tx.now_ms) for one in taken]
    await tx.many(statements.keep_response(), responses)
    keys = bind_rows((one.job, attempts[one.job], 0) for one in taken)
    numbers = {JobId(row.job_id): row.id for row in await tx.rows(statements.stored(), {"kept": keys})}
    readings = [reading_row(numbers[one.job], seq, one.result.reading) for one in taken]
    await tx.many(statements.add_reading(), readings)
    ids = [row for one in taken if (row := token_row(numbers[one.job], one.result.reading)) is not None]
    await tx.many(statements.add_token_ids(), ids)


def _response(one: JobResult, attempt: int, seq: int, now_ms: int) -> dict[str, Any]:
    packed = one.result.packed
    return {
        "job_id": one.job,
        "attempt": attempt,
        "turn": 0,
        "accepted_seq": seq if one.result.readable else None,
        "form": one.result.answer.form,
        "http_status": one.result.answer.http_status,
        "expected": int(one.result.expected),
        "profile": one.result.profile,
        "raw_bytes": packed.raw_bytes,
        "raw_sha256": packed.raw_sha256,
        "codec": packed.codec,
        "raw": packed.raw,
    } | {**NOT_SAID, "received_ms": now_ms, **one.result.answer.facts}
