"""The attempts of a job as one list: what was leased, sent, received and stored, and what failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.model.ids import ResponseId

if TYPE_CHECKING:
    from app.progress.sample import Answer, FailedAttempt


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt that left something: a stored body, a failure, or both. Times that nobody noted are None."""

    attempt: int
    turn: int
    leased_ms: int | None
    sent_ms: int | None
    ended_ms: int  # when the body was whole, or the attempt had failed
    worker: int | None
    http_status: int | None
    response: ResponseId | None  # the stored body
    standing: str | None  # accepted, superseded, late or kept; None where no body is stored
    verdict: str | None  # of its newest reading
    flags: tuple[str, ...]
    body_bytes: int | None  # of the stored body, or of what came of one that never ended
    cause: str | None  # of a failed one
    message: str | None
    counted: bool  # whether it raised tries

    @property
    def failed(self) -> bool:
        return self.cause is not None


def attempts_of(answers: Sequence["Answer"], failures: Sequence["FailedAttempt"]) -> tuple[Attempt, ...]:
    """All attempts in their order. A failure that stored a whole body is one attempt with it."""
    by_body = {failure.response: failure for failure in failures if failure.response is not None}
    stored = [_stored(answer, by_body.get(answer.id)) for answer in answers]
    known = {answer.id for answer in answers}
    bare = [_bare(failure) for failure in failures if failure.response not in known]
    return tuple(sorted((*stored, *bare), key=lambda one: (one.attempt, one.turn, one.ended_ms)))


def _stored(answer: "Answer", failure: "FailedAttempt | None") -> Attempt:
    reading = answer.reading
    return Attempt(
        attempt=answer.attempt, turn=answer.turn, leased_ms=answer.leased_ms, sent_ms=answer.requested_ms,
        ended_ms=answer.received_ms, worker=answer.worker, http_status=answer.http_status, response=answer.id,
        standing=answer.standing, verdict=None if reading is None else reading.verdict,
        flags=() if reading is None else reading.flags, body_bytes=answer.raw_bytes,
        cause=None if failure is None else failure.cause, message=None if failure is None else failure.message,
        counted=failure is not None and failure.counted,
    )  # fmt: skip


def _bare(failure: "FailedAttempt") -> Attempt:
    return Attempt(
        attempt=failure.attempt, turn=0, leased_ms=failure.leased_ms, sent_ms=None, ended_ms=failure.at_ms,
        worker=failure.worker, http_status=failure.http_status, response=None, standing=None, verdict=None, flags=(),
        body_bytes=None if failure.body is None else len(failure.body), cause=failure.cause, message=failure.message,
        counted=failure.counted,
    )  # fmt: skip
