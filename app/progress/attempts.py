"""The attempts of a job as one list: what was leased, sent, received and stored, and what failed."""

from dataclasses import dataclass

from app.model.ids import ResponseId


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
