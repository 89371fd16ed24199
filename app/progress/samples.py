"""Lists of samples: pages in the order of import, filtered, never a body."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.model.errors import UsageError
from app.model.lease import Cause
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress import statements
from app.progress.finding import dataset_named
from app.store.store import Store

MOST = 500  # rows on one page


@dataclass(frozen=True, slots=True)
class Filter:
    """What is listed; None lets everything through."""

    state: str | None = None
    verdict: str | None = None
    finish: str | None = None
    cause: str | None = None

    def __post_init__(self) -> None:
        for name, said, known in (
            ("state", self.state, JobState),
            ("verdict", self.verdict, Verdict),
            ("cause", self.cause, Cause),
        ):
            if said is not None and said not in set(known):
                raise UsageError(f"There is no {name} {said!r}. Known: {', '.join(known)}.")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended; the next one begins after it."""

    ordinal: int = 0
    replica: int = -1

    def __str__(self) -> str:
        return f"{self.ordinal}.{self.replica}"

    @classmethod
    def parse(cls, text: str) -> "Place":
        """The place that `str` wrote."""
        ordinal, _, replica = text.partition(".")
        if not (ordinal.isascii() and ordinal.isdigit() and replica.isascii() and replica.isdigit()):
            raise UsageError(f"{text!r} is no place in a list. Take the one that the page before ended with.")
        return cls(int(ordinal[:18]), int(replica[:18]))


@dataclass(frozen=True, slots=True)
class SampleLine:
    """One job in a list, with the facts of its accepted answer."""

    sample_id: str
    ordinal: int
    replica: int
    state: JobState
    attempt: int
    tries: int
    cause: str | None
    finished_ms: int | None
    verdict: str | None
    finish_reason: str | None
    reasoning_chars: int | None
    content_chars: int | None
    completion_tokens: int | None
    latency_ms: int | None
    preview: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """Lines, and where the next page begins; None at the end."""

    lines: tuple[SampleLine, ...]
    after: Place | None


async def samples(store: Store, name: str, wanted: Filter, after: Place | None = None, limit: int = 50) -> Page:
    """One page of the samples of a dataset."""
    if not 1 <= limit <= MOST:
        raise UsageError(f"A page holds 1 to {MOST} samples, not {limit}.")
    start = after or Place()
    async with store.snapshot() as reads:
        dataset = await dataset_named(reads, name)
        params = {
            "dataset": dataset, "after_ordinal": start.ordinal, "after_replica": start.replica, "limit": limit + 1,
            "wanted_state": wanted.state, "wanted_verdict": wanted.verdict,
            "wanted_finish_reason": wanted.finish, "wanted_cause": wanted.cause,
        }  # fmt: skip
        rows: Sequence[Any] = await reads.rows(statements.samples(), params)
    lines = tuple(line(row) for row in rows[:limit])
    more = len(rows) > limit
    return Page(lines, Place(lines[-1].ordinal, lines[-1].replica) if more else None)


def line(row: Any) -> SampleLine:
    """A row of the job table as it is listed."""
    return SampleLine(
        sample_id=row.sample_id, ordinal=row.ordinal, replica=row.replica, state=JobState(row.state),
        attempt=row.attempt, tries=row.tries, cause=row.cause, finished_ms=row.finished_ms, verdict=row.verdict,
        finish_reason=row.finish_reason, reasoning_chars=row.reasoning_chars, content_chars=row.content_chars,
        completion_tokens=row.completion_tokens, latency_ms=row.latency_ms, preview=row.preview,
    )  # fmt: skip
