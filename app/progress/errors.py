"""Failed attempts of a dataset, grouped by what went wrong."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from app.model.ids import DatasetId
from app.model.lease import Cause
from app.progress import statements_dataset as statements
from app.progress.overview import Tally
from app.progress.rates import MINUTE_MS
from app.store.transaction import Reads

SHOWN = 20  # groups on a page, those that happened last
_HOUR_MS = 60 * MINUTE_MS
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


async def read_errors(reads: Reads, dataset: DatasetId, now_ms: int, tally: Tally) -> Errors:
    """The errors of a dataset with that tally."""
    rows = await reads.rows(statements.failure_groups(), {"dataset": dataset})
    groups = [await _group(reads, row, now_ms) for row in rows[:SHOWN]]
    attempts: Counter[str] = Counter()
    for row in rows:
        attempts[row.cause] += row.attempts
    causes = [CauseTotal(cause, attempts[cause], tally.failed_by(cause)) for cause in Cause]
    known = [total for total in causes if total.attempts or total.failed_jobs]
    known.sort(key=lambda total: (-total.failed_jobs, -total.attempts))
    return Errors(tuple(groups), max(0, len(rows) - SHOWN), tuple(known))


async def _group(reads: Reads, row: Any, now_ms: int) -> ErrorGroup:
    since_ms = now_ms - _HOUR_MS
    lately = 0
    if row.last_ms >= since_ms:
        bounds = {"group": row.id, "since_ms": since_ms, "limit": COUNTED}
        lately = int(await reads.value(statements.failures_since(), bounds))
    latest = await reads.first(statements.latest_failure(), {"group": row.id})
    return ErrorGroup(
        id=row.id,
        cause=Cause(row.cause),
        http_status=row.http_status or None,
        message=row.message,
        attempts=row.attempts,
        last_hour=lately,
        last_hour_cut=lately >= COUNTED,
        first_ms=row.first_ms,
        last_ms=row.last_ms,
        example=None if latest is None else Example(latest.sample_id, latest.replica, latest.attempt, latest.message),
    )
