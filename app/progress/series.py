"""What a dataset finished over time, and what happened meanwhile: sums of minute buckets, and lines between them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.model.ids import DatasetId
from app.model.verdicts import Fraction
from app.progress import statements_dataset as statements
from app.progress.finding import dataset_named
from app.progress.rates import MINUTE_MS
from app.store.store import Store
from app.store.transaction import Reads

MOMENTS = 100  # event lines of one chart
FEWEST_STEPS = 10  # of a run that has just begun


class Span(StrEnum):
    """How far back a chart looks."""

    TEN_MINUTES = "10min"
    HOUR = "1h"
    SIX_HOURS = "6h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def span_ms(self) -> int:
        return _MINUTES[self] * MINUTE_MS

    @property
    def step_ms(self) -> int:
        """A minute, or longer where that would be more than 336 points."""
        return _STEP_MINUTES[self] * MINUTE_MS


_HOUR = 60
_MINUTES = {
    Span.TEN_MINUTES: 10, Span.HOUR: _HOUR, Span.SIX_HOURS: 6 * _HOUR, Span.DAY: 24 * _HOUR, Span.WEEK: 7 * 24 * _HOUR,
    Span.MONTH: 30 * 24 * _HOUR,
}  # fmt: skip
_STEP_MINUTES = {
    Span.TEN_MINUTES: 1, Span.HOUR: 1, Span.SIX_HOURS: 5, Span.DAY: 5, Span.WEEK: 30, Span.MONTH: 180,
}  # fmt: skip


def fitting(age_ms: int) -> Span:
    """The shortest span that a run of this age fits in; the longest one for those that are older."""
    return next((span for span in Span if span.span_ms >= age_ms), Span.MONTH)


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
    is_whole_run: bool  # nothing was finished before `from_ms`, because nobody asked for a span
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


async def series_of(store: Store, name: str, span: Span | None = None) -> Series:
    """The series of a dataset; without a span, over its whole run."""

    async def read(reads: Reads) -> Series:
        return await read_series(reads, await dataset_named(reads, name), store.now_ms(), span)

    return await store.read(read)


async def read_series(reads: Reads, dataset: DatasetId, now_ms: int, span: Span | None = None) -> Series:
    """The same in a snapshot that is open."""
    age_ms: int | None = None
    if span is None:
        began = await reads.value(statements.first_minute(), {"dataset": dataset})
        age_ms = 0 if began is None else now_ms - began * MINUTE_MS
        span = fitting(age_ms)
    step_ms = span.step_ms
    back_ms = span.span_ms if age_ms is None else min(span.span_ms, max(age_ms, FEWEST_STEPS * step_ms))
    from_ms = (now_ms - back_ms) // step_ms * step_ms
    minutes = {"dataset": dataset, "minutes": step_ms // MINUTE_MS, "since": from_ms // MINUTE_MS}
    found = [_point(row, step_ms) for row in await reads.rows(statements.steps(), minutes)]
    events = {"dataset": dataset, "since_ms": from_ms, "limit": MOMENTS + 1}
    moments = [_moment(row) for row in await reads.rows(statements.moments(), events)]
    return Series(
        span=span,
        is_whole_run=age_ms is not None and age_ms <= span.span_ms,
        step_ms=step_ms,
        from_ms=from_ms,
        until_ms=now_ms,
        points=filled_steps(found, from_ms, now_ms, step_ms),
        moments=tuple(reversed(moments[:MOMENTS])),
        moments_left_out=len(moments) > MOMENTS,
    )


def _point(row: Any, step_ms: int) -> Point:
    return Point(row.step * step_ms, row.done, row.failed, row.graded, row.captured, row.tokens)


def _moment(row: Any) -> Moment:
    return Moment(row.at_ms, row.kind, words_of(row.kind, json.loads(row.detail), row.worker))


def words_of(kind: str, detail: Mapping[str, Any], worker: str | None) -> str:
    """An event in a few words."""
    match kind:
        case "worker_started" | "worker_stopped" | "worker_dead":
            return f"worker {worker or '?'} {kind.removeprefix('worker_')}"
        case "held":
            return f"held by {detail.get('by')}: {detail.get('reason')}"
        case "resumed":
            return f"resumed ({detail.get('kinds')})"
        case "server_changed" | "endpoint_seen":
            return f"{kind.replace('_', ' ')}: {detail.get('base_url')} with {detail.get('model')}"
        case "parser":
            return f"parser {detail.get('version')}"
        case "reparsed":
            return f"reparsed: {detail.get('changed')} readings changed"
        case "retried":
            return f"retried: {detail.get('jobs')} jobs"
        case _:
            return kind.replace("_", " ")
