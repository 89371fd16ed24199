"""The Overview as ready words for its template; every number comes from app.progress."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from app.model.states import JobState
from app.model.verdicts import Fraction
from app.progress import wording
from app.progress.eta import Word
from app.progress.overview import DatasetProgress, Liveness, OpenWorker, Overview, Tally

WARN_BELOW, ALARM_BELOW = 95, 80  # percent of captured answers


@dataclass(frozen=True, slots=True)
class Mark:
    """A state as icon and word: colour is never alone. `tone` is good, warn, bad, busy or quiet."""

    tone: str
    icon: str
    word: str


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that needs a person."""

    tone: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One large number of the summary."""

    label: str
    value: str
    note: str
    tone: str = "quiet"


@dataclass(frozen=True, slots=True)
class Count:
    """One state with its number of jobs."""

    word: str
    jobs: str


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One line of the table."""

    key: str
    name: str
    mark: Mark
    done: int
    total: int
    progress: str
    percent: str
    capture: str
    capture_percent: str
    capture_tone: str
    rate: str
    tokens: str
    eta: str
    lost: str
    lost_note: str
    truncated: str
    failed: str
    failed_note: str
    counts: tuple[Count, ...]
    sum: Mark


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One open worker."""

    key: str
    name: str
    where: str
    mark: Mark
    slots: str
    heartbeat: str
    started: str


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """All that the templates of the Overview place."""

    title: str
    announcement: str
    alerts: tuple[Alert, ...]
    figures: tuple[Figure, ...]
    counts: tuple[Count, ...]
    sum: Mark
    rows: tuple[DatasetRow, ...]
    workers: tuple[WorkerRow, ...]
    workers_note: str
    store: str
    seq: str
    store_path: str
    import_command: str | None


def overview_page(overview: Overview) -> OverviewPage:
    """The page of an Overview."""
    total = overview.total
    return OverviewPage(
        title=f"{total.progress.percent} Thinkledger" if total.total else "Thinkledger",
        announcement=f"{total.progress} done, {total.progress.percent}",
        alerts=tuple(_alerts(overview)),
        figures=tuple(_figures(overview)),
        counts=_counts(total),
        sum=_sum(total),
        rows=tuple(_row(dataset) for dataset in overview.datasets),
        workers=tuple(_worker(worker, overview.as_of_ms) for worker in overview.workers.open),
        workers_note=wording.workers(overview.workers),
        store=wording.size(overview.store_bytes),
        seq=f"{overview.seq:,}",
        store_path=overview.store_path,
        import_command=None if overview.datasets else _import_command(overview.store_path),
    )


def _import_command(store_path: str) -> str:
    return f"thinkledger --db {shlex.quote(store_path)} import NAME prompts.jsonl"


def _alerts(overview: Overview) -> Iterator[Alert]:
    for dataset in overview.datasets:
        mismatch = wording.mismatch(dataset.tally)
        if mismatch is not None:
            yield Alert("bad", f"{dataset.name}: the numbers do not add up", mismatch)
        for hold in dataset.holds:
            by_person = hold.kind == "person"
            kind = "paused by a person" if by_person else f"held by {hold.kind}"
            yield Alert(
                "warn" if by_person else "bad",
                f"{dataset.name}: {kind} since {wording.moment(hold.since_ms)}",
                hold.reason,
            )
    for alarm in overview.warnings:
        about = f"{alarm.dataset}: " if alarm.dataset else ""
        title = f"{about}{alarm.kind.replace('_', ' ')} since {wording.moment(alarm.since_ms)}"
        yield Alert("bad" if alarm.holds else "warn", title, alarm.message)


def _figures(overview: Overview) -> Iterator[Figure]:
    total, rate = overview.total, overview.pace.rate
    yield Figure("Done", total.progress.percent, str(total.progress))
    yield Figure(
        "Capture", total.capture.percent, f"{total.capture}, truncated {total.truncated}", capture_tone(total.capture)
    )
    rated = "last 15 min" if rate.known else wording.per_hour(rate)
    yield Figure("Rate", wording.per_hour(rate) if rate.known else "-", rated)
    yield Figure("Tokens", wording.tokens_per_second(rate), f"{total.tokens:,} so far")
    yield Figure("ETA", wording.eta(overview.pace.eta), f"{total.remaining:,} to go")


def capture_tone(capture: Fraction) -> str:
    """Good from 95 % on, a warning from 80 % on."""
    if capture.whole == 0:
        return "quiet"
    if capture.part * 100 >= WARN_BELOW * capture.whole:
        return "good"
    return "warn" if capture.part * 100 >= ALARM_BELOW * capture.whole else "bad"


def _counts(tally: Tally) -> tuple[Count, ...]:
    return tuple(Count(str(state), f"{tally.state(state):,}") for state in JobState)


def _sum(tally: Tally) -> Mark:
    if tally.adds_up:
        return Mark("good", "\N{CHECK MARK}", f"sum {tally.summed:,} of {tally.total:,}")
    return Mark("bad", "\N{CROSS MARK}", f"sum {tally.summed:,}, but {tally.total:,} jobs")


def _row(dataset: DatasetProgress) -> DatasetRow:
    tally, pace = dataset.tally, dataset.pace
    return DatasetRow(
        key=f"dataset-{dataset.id}",
        name=dataset.name,
        mark=_mark(dataset),
        done=tally.progress.part,
        total=tally.progress.whole,
        progress=str(tally.progress),
        percent=tally.progress.percent,
        capture="no answers yet" if tally.capture.whole == 0 else str(tally.capture),
        capture_percent=tally.capture.percent,
        capture_tone=capture_tone(tally.capture),
        rate=wording.pace_per_hour(pace),
        tokens=wording.pace_tokens(pace),
        eta=wording.eta(pace.eta),
        lost=f"{tally.lost:,}",
        lost_note=f"missing {tally.missing:,}, leaked {tally.leaked:,}",
        truncated=f"truncated {tally.truncated.part:,}",
        failed=f"{tally.state(JobState.FAILED):,}",
        failed_note=f"{pace.failed_last_hour:,} in 1 h" if pace.failed_last_hour else "",
        counts=_counts(tally),
        sum=_sum(tally),
    )


def _mark(dataset: DatasetProgress) -> Mark:
    if not dataset.tally.adds_up:
        return Mark("bad", "\N{CROSS MARK}", "mismatch")
    match dataset.pace.eta.word:
        case Word.COMPLETE:
            failed = dataset.tally.state(JobState.FAILED)
            return Mark("warn", "!", f"{failed:,} failed") if failed else Mark("good", "\N{CHECK MARK}", "complete")
        case Word.PAUSED:
            return Mark("warn", "\N{DOUBLE VERTICAL LINE}", "paused")
        case Word.HELD:
            return Mark("bad", "!", "held")
        case Word.EMPTY:
            return Mark("quiet", "\N{WHITE CIRCLE}", "empty")
        case Word.NO_WORKER:
            return Mark("quiet", "\N{WHITE CIRCLE}", "no worker")
        case _:
            leased = dataset.tally.state(JobState.LEASED)
            return Mark("busy", "\N{BLACK RIGHT-POINTING TRIANGLE}", "running") if leased else _WAITING


_WAITING = Mark("quiet", "\N{WHITE CIRCLE}", "waiting")

_LIVENESS = {
    Liveness.LIVE: Mark("good", "\N{BLACK CIRCLE}", "live"),
    Liveness.LATE: Mark("warn", "\N{CIRCLE WITH LEFT HALF BLACK}", "late"),
    Liveness.STOPPED: Mark("quiet", "\N{WHITE CIRCLE}", "stopped"),
    Liveness.DEAD: Mark("bad", "\N{CROSS MARK}", "dead"),
}


def _heartbeat(worker: OpenWorker, now_ms: int) -> str:
    """The age only where it says something: one that counts up at every look would make every look a change."""
    if worker.liveness is Liveness.LIVE:
        return "on time"
    return f"{wording.age(now_ms - worker.heartbeat_ms)} ago"


def _worker(worker: OpenWorker, now_ms: int) -> WorkerRow:
    mark = _LIVENESS[worker.liveness]
    return WorkerRow(
        key=f"worker-{worker.id}",
        name=worker.name,
        where=f"{worker.host}, process {worker.pid}",
        mark=Mark(mark.tone, mark.icon, f"{mark.word}, draining") if worker.draining else mark,
        slots=f"{worker.slots:,}",
        heartbeat=_heartbeat(worker, now_ms),
        started=wording.moment(worker.started_ms),
    )
