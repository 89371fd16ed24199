"""What a dataset finished over time, and what happened meanwhile: sums of minute buckets, and lines between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.model.verdicts import Fraction
from app.progress.rates import MINUTE_MS


class Span(StrEnum):
    """How far back a chart looks."""

    TWO_HOURS = "2h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def span_ms(self) -> int:
        return _HOURS[self] * 60 * MINUTE_MS

    @property
    def step_ms(self) -> int:
        """Five minutes, or longer where that would be more than 336 points."""
        return _STEP_MINUTES[self] * MINUTE_MS


_HOURS = {Span.TWO_HOURS: 2, Span.DAY: 24, Span.WEEK: 7 * 24, Span.MONTH: 30 * 24}
_STEP_MINUTES = {Span.TWO_HOURS: 5, Span.DAY: 5, Span.WEEK: 30, Span.MONTH: 180}


@dataclass(frozen=True, slots=True)
class Point:
    """One step of a chart, from `start_ms` on. Imported answers are in none."""

    start_ms: int
    done: int = 0
    failed: int = 0
    graded: int = 0  # done jobs that the capture rate speaks of
    captured: int = 0
    tokens: int = 0

    @property
    def capture(self) -> Fraction:
        return Fraction(self.captured, self.graded)


@dataclass(frozen=True, slots=True)
class Moment:
    """An event that stands as a line in a chart. `kind` is that of the event row, `text` says it in words."""

    at_ms: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Series:
    """Every step from `from_ms` to `until_ms`, those without an answer too; the last one is not over yet."""

    span: Span
    step_ms: int
    from_ms: int
    until_ms: int
    points: tuple[Point, ...]
    moments: tuple[Moment, ...]  # oldest first
    moments_left_out: bool  # there were more, older than the first of these


def filled_steps(found: Sequence[Point], first_ms: int, now_ms: int, step_ms: int) -> tuple[Point, ...]:
    """`found` with a zero for every step that has none."""
    by_start = {point.start_ms: point for point in found}
    return tuple(by_start.get(start, Point(start)) for start in range(first_ms, now_ms + 1, step_ms))
