"""Failed attempts of a dataset, grouped by what went wrong."""

from dataclasses import dataclass

from app.model.lease import Cause

SHOWN = 50  # groups on a page, those that happened last
COUNTED = 10_000  # failures of one group that are counted for the last hour


@dataclass(frozen=True, slots=True)
class Example:
    """The latest failed attempt of a group."""

    sample_id: str
    replica: int
    attempt: int
    message: str


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failed attempts with the same cause, HTTP status and message, once numbers, ids and hosts are masked."""

    id: int
    cause: Cause
    http_status: int | None
    message: str  # masked
    attempts: int
    last_hour: int
    last_hour_cut: bool  # there were at least that many
    first_ms: int
    last_ms: int
    example: Example | None  # None once its job was deleted


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """One cause over all its groups. `failed_jobs` is what a retry by this cause asks again."""

    cause: Cause
    attempts: int
    failed_jobs: int


@dataclass(frozen=True, slots=True)
class Errors:
    """The groups that happened last first, and every cause with its sums."""

    groups: tuple[ErrorGroup, ...]
    groups_left_out: int
    causes: tuple[CauseTotal, ...]
