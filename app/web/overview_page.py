"""The Overview as ready words for its template; every number comes from app.progress."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from app.model.states import JobState
from app.progress import wording
from app.progress.overview import DatasetProgress, Overview, Tally
from app.web.attention import Alert, attention
from app.web.marks import Mark, capture_mark, dataset_mark, sum_mark
from app.web.site import Site
from app.web.worker_rows import WorkerRow, worker_row

PLAIN = Mark("quiet", "", "")


@dataclass(frozen=True, slots=True)
class Figure:
    """One large number of the summary."""

    label: str
    value: str
    note: str
    mark: Mark = PLAIN


@dataclass(frozen=True, slots=True)
class Count:
    """One state with its number of jobs, and where they are listed."""

    word: str
    jobs: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One line of the table."""

    key: str
    name: str
    href: str
    mark: Mark
    done: int
    total: int
    progress: str
    percent: str
    capture: str
    capture_percent: str
    capture_mark: Mark
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
    turns: str  # of conversations; empty where there are none


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
    import_command: str | None


def overview_page(site: Site, now: Overview) -> OverviewPage:
    """The page of an Overview."""
    total = now.total
    return OverviewPage(
        title=f"{total.progress.percent} Thinkledger" if total.total else "Thinkledger",
        announcement=f"{total.progress} done, {total.progress.percent}",
        alerts=tuple(attention(site, now)),
        figures=tuple(_figures(now)),
        counts=tuple(Count(str(state), f"{total.state(state):,}") for state in JobState),
        sum=sum_mark(total),
        rows=tuple(dataset_row(site, dataset, now) for dataset in now.datasets),
        workers=tuple(worker_row(site, worker, now.as_of_ms) for worker in now.workers.open),
        workers_note=wording.workers(now.workers),
        import_command=None if now.datasets else import_command(now.store_path),
    )


def import_command(store_path: str) -> str:
    """What a person types to add a dataset to this store."""
    return f"thinkledger --db {shlex.quote(store_path)} import NAME prompts.jsonl"


def _figures(now: Overview) -> Iterator[Figure]:
    total, rate = now.total, now.pace.rate
    yield Figure("Done", total.progress.percent, str(total.progress))
    mark = capture_mark(total.capture, now)
    note = f"{_capture(total, mark)}, truncated {total.truncated}"
    yield Figure("Capture", total.capture.percent, note, mark)
    yield Figure("Rate", wording.pace_per_hour(now.pace) if rate.known else "-", wording.rate_note(now.pace))
    yield Figure("Tokens", wording.pace_tokens(now.pace) or "-", f"{total.tokens:,} so far")
    yield Figure("ETA", wording.eta(now.pace.eta), wording.eta_note(now.pace, total.remaining))


def state_counts(site: Site, name: str, tally: Tally) -> tuple[Count, ...]:
    """Every state, each with the list of its jobs."""
    return tuple(
        Count(str(state), f"{tally.state(state):,}", site.dataset_url(name, "/samples", state=state))
        for state in JobState
    )


def _capture(tally: Tally, mark: Mark) -> str:
    """The parts of a capture rate, and the word of its state where it needs one."""
    said = "no answers yet" if tally.capture.whole == 0 else str(tally.capture)
    return f"{said}, {mark.word}" if mark.word else said


def dataset_row(site: Site, dataset: DatasetProgress, now: Overview) -> DatasetRow:
    """One dataset as a line."""
    tally, pace = dataset.tally, dataset.pace
    captured = capture_mark(tally.capture, now, dataset.name)
    return DatasetRow(
        key=f"dataset-{dataset.id}",
        name=dataset.name,
        href=site.dataset_url(dataset.name),
        mark=dataset_mark(dataset),
        done=tally.progress.part,
        total=tally.progress.whole,
        progress=str(tally.progress),
        percent=tally.progress.percent,
        capture=_capture(tally, captured),
        capture_percent=tally.capture.percent,
        capture_mark=captured,
        rate=wording.pace_per_hour(pace),
        tokens=wording.pace_tokens(pace),
        eta=wording.eta(pace.eta),
        lost=f"{tally.lost:,}",
        lost_note=f"missing {tally.missing:,}, leaked {tally.leaked:,}",
        truncated=f"truncated {tally.truncated.part:,}",
        failed=f"{tally.state(JobState.FAILED):,}",
        failed_note=f"{pace.failed_last_hour:,} in 1 h" if pace.failed_last_hour else "",
        counts=state_counts(site, dataset.name, tally),
        sum=sum_mark(tally),
        turns=wording.turns(tally),
    )
