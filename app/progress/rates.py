"""How fast a run is: arithmetic over minute buckets, never over jobs."""

from collections.abc import Sequence
from dataclasses import dataclass

MINUTE_MS = 60_000
WINDOW_MS = 15 * MINUTE_MS  # the rate speaks of the last quarter of an hour,
LEAST_SPAN_MS = 5 * MINUTE_MS  # once it covers this much of it
LEAST_COMPLETIONS = 20  # and this many answers
HISTORY_MS = 120 * MINUTE_MS  # how far back an ETA looks
STEP = 5  # minutes in one of its rates


@dataclass(frozen=True, slots=True)
class Minute:
    """What was finished in one minute."""

    minute: int  # minutes since 1970
    done: int = 0
    failed: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """Completions within a span. With too few of them, or too short a span, there is no rate yet."""

    completions: int
    span_ms: int
    tokens: int

    @property
    def known(self) -> bool:
        return self.completions >= LEAST_COMPLETIONS and self.span_ms >= LEAST_SPAN_MS

    @property
    def per_hour(self) -> int | None:
        """Completions an hour, cut to a whole number; None while measuring."""
        return self.completions * 60 * MINUTE_MS // self.span_ms if self.known else None

    @property
    def tokens_per_second(self) -> int | None:
        """Completion tokens a second, cut to a whole number; None while measuring."""
        return self.tokens * 1000 // self.span_ms if self.known else None


def rate(minutes: Sequence[Minute], now_ms: int, since_ms: int | None) -> Rate:
    """The rate of the last 15 minutes, or since `since_ms` (the last start or resume) if that is later.

    It begins with a whole minute, because a bucket does not tell the parts of one.
    """
    first = _first_whole_minute(now_ms - WINDOW_MS, since_ms)
    counted = [minute for minute in minutes if minute.minute >= first]
    return Rate(
        completions=sum(minute.done for minute in counted),
        span_ms=max(0, now_ms - first * MINUTE_MS),
        tokens=sum(minute.tokens for minute in counted),
    )


def five_minute_counts(minutes: Sequence[Minute], now_ms: int, since_ms: int | None) -> list[int]:
    """Completions in each whole five minutes of the last two hours, or since `since_ms`; the newest first."""
    done = {minute.minute: minute.done for minute in minutes}
    first = _first_whole_minute(now_ms - HISTORY_MS, since_ms)
    ends = range(now_ms // MINUTE_MS, first + STEP - 1, -STEP)
    return [sum(done.get(minute, 0) for minute in range(end - STEP, end)) for end in ends]


def failed_within(minutes: Sequence[Minute], now_ms: int, span_ms: int) -> int:
    """Jobs that failed for good in the last `span_ms`, to the minute."""
    first = (now_ms - span_ms) // MINUTE_MS
    return sum(minute.failed for minute in minutes if minute.minute >= first)


def together(several: Sequence[Sequence[Minute]]) -> list[Minute]:
    """The minutes of several datasets as those of one run."""
    summed: dict[int, Minute] = {}
    for minute in (one for minutes in several for one in minutes):
        before = summed.get(minute.minute, Minute(minute.minute))
        summed[minute.minute] = Minute(
            minute.minute, before.done + minute.done, before.failed + minute.failed, before.tokens + minute.tokens
        )
    return [summed[minute] for minute in sorted(summed)]


def _first_whole_minute(from_ms: int, since_ms: int | None) -> int:
    start_ms = from_ms if since_ms is None else max(from_ms, since_ms)
    return -(-start_ms // MINUTE_MS)
