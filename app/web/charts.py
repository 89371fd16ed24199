"""Charts as ready geometry: a viewBox of whole numbers, words for its edges, and the same facts as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.progress import wording
from app.progress.histogram import Bin, Histogram
from app.progress.series import Point, Series
from app.web.site import Site

WIDTH, HEIGHT, DAY_MS = 1000, 120, 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, from its top to the ground."""

    x: int
    y: int
    width: int
    height: int
    title: str
    href: str | None = None
    tone: str = "plain"


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that happened, as a line from top to ground."""

    x: int
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart. `runs` are lines that are broken where nothing is known; `ticks` stand under it from left to right."""

    id: str
    title: str
    summary: str
    top: str  # the value of its upper edge
    bars: tuple[Bar, ...]
    runs: tuple[str, ...]
    rules: tuple[Rule, ...]
    ticks: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    guide: int | None = None  # the height of a line that is to be stayed above
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def empty(self) -> bool:
        return not self.rows


def throughput(series: Series) -> Chart:
    """Done and failed jobs by time."""
    points = series.points
    most = max((point.done + point.failed for point in points), default=0)
    per_step = wording.duration(series.step_ms)
    bars = [bar for place, point in enumerate(points) for bar in _stack(series, place, point, most)]
    finished = [point for point in points if point.done or point.failed]
    return Chart(
        id="throughput",
        title="Throughput",
        summary=f"{sum(point.done for point in points):,} done, {sum(point.failed for point in points):,} failed "
        f"in {_over(series)}; at most {most:,} in {per_step}",
        top=f"{most:,} in {per_step}",
        bars=tuple(bars),
        runs=(),
        rules=_rules(series),
        ticks=_ticks(series),
        columns=("From", "Done", "Failed", "Tokens"),
        rows=tuple(
            (_time(point.start_ms, series), f"{point.done:,}", f"{point.failed:,}", f"{point.tokens:,}")
            for point in finished
        ),
    )


def _stack(series: Series, place: int, point: Point, most: int) -> list[Bar]:
    """Failed jobs stand on the done ones."""
    left, right = _edges(place, len(series.points))
    done, failed = _scaled(point.done, most), _scaled(point.failed, most)
    when = f"{_time(point.start_ms, series)}: {point.done:,} done, {point.failed:,} failed"
    bars = [Bar(left, HEIGHT - done, right - left, done, when)] if done else []
    return bars + ([Bar(left, HEIGHT - done - failed, right - left, failed, when, tone="bad")] if failed else [])


def capture(series: Series) -> Chart:
    """The share of captured answers by time; where none came there is no line."""
    graded = [point for point in series.points if point.graded]
    return Chart(
        id="capture",
        title="Capture",
        summary=f"{sum(point.captured for point in graded):,} of {sum(point.graded for point in graded):,} "
        f"answers captured in {_over(series)}",
        top="100 %",
        bars=(),
        runs=tuple(_runs(series)),
        rules=_rules(series),
        ticks=_ticks(series),
        columns=("From", "Captured", "Rate"),
        rows=tuple((_time(point.start_ms, series), str(point.capture), point.capture.percent) for point in graded),
        guide=HEIGHT - HEIGHT * 95 // 100,
    )


def _runs(series: Series) -> list[str]:
    runs: list[list[str]] = [[]]
    for place, point in enumerate(series.points):
        if not point.graded:
            runs.append([])
            continue
        left, right = _edges(place, len(series.points))
        y = HEIGHT - HEIGHT * point.captured // point.graded
        runs[-1] += [f"{left},{y}", f"{right},{y}"]
    return [" ".join(run) for run in runs if run]


def histogram(site: Site, name: str, found: Histogram) -> Chart:
    """How long the thoughts are; each bar leads to its samples."""
    most = max((one.jobs for one in found.bins), default=0)
    return Chart(
        id="histogram",
        title="Length of reasoning",
        summary=f"{found.jobs:,} answers with reasoning, {found.without:,} without",
        top=f"{most:,} answers",
        bars=tuple(_bin_bar(site, name, place, one, found, most) for place, one in enumerate(found.bins) if one.jobs),
        runs=(),
        rules=(),
        ticks=tuple(_short(one.least) for one in found.bins),
        columns=("Characters", "Answers"),
        rows=tuple((_range(one), f"{one.jobs:,}") for one in found.bins) if found.jobs else (),
    )


def _bin_bar(site: Site, name: str, place: int, one: Bin, found: Histogram, most: int) -> Bar:
    left, right = _edges(place, len(found.bins))
    height = _scaled(one.jobs, most)
    href = site.dataset_url(name, "/samples", min_reasoning=one.least, max_reasoning=one.most)
    title = f"{_range(one)} characters: {one.jobs:,} answers"
    return Bar(left + 3, HEIGHT - height, right - left - 6, height, title, href)


def _edges(place: int, places: int) -> tuple[int, int]:
    return place * WIDTH // places, max(place * WIDTH // places + 1, (place + 1) * WIDTH // places)


def _scaled(value: int, most: int) -> int:
    """A height; whatever is there can be seen."""
    return 0 if value == 0 else max(2, value * (HEIGHT - 4) // most)


def _rules(series: Series) -> tuple[Rule, ...]:
    span = max(1, series.until_ms - series.from_ms)
    return tuple(
        Rule(
            min(WIDTH, max(0, (moment.at_ms - series.from_ms) * WIDTH // span)),
            f"{wording.moment(moment.at_ms)}: {moment.text}",
        )
        for moment in series.moments
    )


def _ticks(series: Series) -> tuple[str, ...]:
    middle = (series.from_ms + series.until_ms) // 2
    return tuple(_time(at_ms, series) for at_ms in (series.from_ms, middle, series.until_ms))


def _over(series: Series) -> str:
    return "the whole run" if series.is_whole_run else str(series.span)


def _time(at_ms: int, series: Series) -> str:
    form = "%H:%M" if series.span.span_ms <= DAY_MS else "%m-%d %H:%M"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime(form)


def _short(count: int) -> str:
    return f"{count // 1024}k" if count >= 1024 else str(count)


def _range(one: Bin) -> str:
    return f"{one.least:,} and more" if one.most is None else f"{one.least:,} - {one.most:,}"


def event_rows(series: Series) -> Sequence[tuple[str, str]]:
    """What happened meanwhile, the newest first."""
    return [(wording.moment(moment.at_ms), moment.text) for moment in reversed(series.moments)]
