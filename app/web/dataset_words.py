"""One dataset as ready words for its template; every number comes from app.progress."""

from dataclasses import dataclass

from app.model.found import Found
from app.model.verdicts import Verdict
from app.progress import wording
from app.progress.dataset_page import DatasetPage
from app.progress.errors import CauseTotal, ErrorGroup
from app.progress.eta import Word
from app.progress.filters import Filter
from app.progress.overview import DatasetProgress, Overview, Pace
from app.progress.series import Span
from app.progress.triage import TriageRow
from app.progress.verdict_table import VerdictRow, VerdictTable
from app.web import charts
from app.web.charts import Chart
from app.web.marks import Mark, verdict_mark
from app.web.overview_page import DatasetRow, dataset_row
from app.web.site import Site

FOUND_WORDS = {
    Found.FIELD: "reasoning in a field",
    Found.TAG: "close tag in content",
    Found.BOTH: "both",
    Found.NEITHER: "neither",
}


@dataclass(frozen=True, slots=True)
class Link:
    """A word that leads somewhere, or stands alone."""

    word: str
    href: str | None
    here: bool = False


@dataclass(frozen=True, slots=True)
class TriageLine:
    """One finish reason with the cells of the matrix."""

    finish: str
    cells: tuple[Link, ...]
    jobs: str


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """One verdict, and what the capture rate makes of it."""

    mark: Mark
    href: str
    jobs: str
    counts: str
    retry: str | None


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """One group of failed attempts."""

    cause: str
    http: str
    message: str
    attempts: str
    last_hour: str
    last: str
    example: Link | None


@dataclass(frozen=True, slots=True)
class CauseLine:
    """One cause, and the way to ask its failed jobs again."""

    cause: str
    attempts: str
    failed: Link
    retry: str | None


@dataclass(frozen=True, slots=True)
class DatasetWords:
    """All that the templates of a dataset place."""

    name: str
    row: DatasetRow
    stalled: bool
    held: bool
    done: str  # of how many samples, and how many answers each
    rate: str  # of what it is measured
    eta: str
    exclusions: str
    spans: tuple[Link, ...]
    charts: tuple[Chart, ...]
    events: tuple[tuple[str, str], ...]
    histogram: Chart
    found: tuple[str, ...]
    triage: tuple[TriageLine, ...]
    triage_others: str | None
    verdicts: tuple[VerdictLine, ...]
    causes: tuple[CauseLine, ...]
    errors: tuple[ErrorLine, ...]
    errors_left_out: str | None
    settings: str


def dataset_words(site: Site, page: DatasetPage, now: Overview, span: Span | None) -> DatasetWords:
    """The page of a dataset; `span` is what was chosen for its charts."""
    name, progress = page.progress.name, page.progress
    return DatasetWords(
        name=name,
        row=dataset_row(site, progress, now),
        stalled=progress.pace.eta.word is Word.STALLED,
        held=bool(progress.holds),
        done=_done(progress),
        rate=_rate(progress.pace),
        eta=wording.eta_note(progress.pace, progress.tally.remaining),
        exclusions=exclusions(page.verdicts),
        spans=(
            Link("whole run", site.dataset_url(name), span is None),
            *(Link(one, site.dataset_url(name, "", span=one), one is span) for one in Span),
        ),
        charts=(charts.throughput(page.series), charts.capture(page.series)),
        events=tuple(charts.event_rows(page.series)),
        histogram=charts.histogram(site, name, page.histogram),
        found=tuple(FOUND_WORDS.values()),
        triage=tuple(_triage(site, name, row) for row in page.triage.rows),
        triage_others=f"{page.triage.others:,} with rarer finish reasons or none" if page.triage.others else None,
        verdicts=tuple(_verdict(site, name, row, span) for row in page.verdicts.rows),
        causes=tuple(_cause(site, name, one, span) for one in page.errors.causes),
        errors=tuple(_error(site, name, group) for group in page.errors.groups),
        errors_left_out=f"{page.errors.groups_left_out:,} older groups" if page.errors.groups_left_out else None,
        settings=page.config,
    )


def _done(progress: DatasetProgress) -> str:
    each = f" x {progress.replicas} answers" if progress.replicas > 1 else ""
    return f"{progress.tally.progress} jobs of {progress.samples:,} samples{each}"


def _rate(pace: Pace) -> str:
    tokens = wording.pace_tokens(pace)
    return f"{tokens}; {wording.rate_note(pace)}" if tokens else wording.rate_note(pace)


def exclusions(table: VerdictTable) -> str:
    """What of the done jobs the capture rate speaks of, and what it leaves out."""
    words = [f"{table.capture} captured of {table.done:,} done"]
    if table.truncated.part:
        words.append(f"{table.truncated.part:,} truncated are in no rate")
    if table.unexpected:
        words.append(f"{table.unexpected:,} were asked without thinking")
    if table.other:
        words.append(f"{table.other:,} have a verdict that contradicts their request")
    return "; ".join(words)


def _triage(site: Site, name: str, row: TriageRow) -> TriageLine:
    return TriageLine(row.finish, tuple(_cell(site, name, row, found) for found in FOUND_WORDS), f"{row.jobs:,}")


def _cell(site: Site, name: str, row: TriageRow, found: Found) -> Link:
    jobs = row.cells[found]
    return Link(f"{jobs:,}", site.dataset_url(name, "/samples", finish=row.finish, found=found) if jobs else None)


def _verdict(site: Site, name: str, row: VerdictRow, span: Span | None) -> VerdictLine:
    jobs = row.expected + row.unexpected
    counts = "captured" if row.captured else "in the rate, not captured" if row.graded else "in no rate"
    again = jobs and row.verdict in (Verdict.MISSING, Verdict.LEAKED, Verdict.TRUNCATED)
    return VerdictLine(
        verdict_mark(row.verdict),
        site.dataset_url(name, "/samples", **Filter(verdict=row.verdict).words()),
        f"{jobs:,}",
        counts,
        site.dataset_url(name, "/retry", verdict=row.verdict, span=span) if again else None,
    )


def _cause(site: Site, name: str, one: CauseTotal, span: Span | None) -> CauseLine:
    failed = site.dataset_url(name, "/samples", state="failed", cause=one.cause) if one.failed_jobs else None
    return CauseLine(
        one.cause,
        f"{one.attempts:,}",
        Link(f"{one.failed_jobs:,}", failed),
        site.dataset_url(name, "/retry", cause=one.cause, span=span) if one.failed_jobs else None,
    )


def _error(site: Site, name: str, group: ErrorGroup) -> ErrorLine:
    example = group.example
    return ErrorLine(
        cause=group.cause,
        http="-" if group.http_status is None else str(group.http_status),
        message=group.message,
        attempts=f"{group.attempts:,}",
        last_hour=f"{group.last_hour:,}{' or more' if group.last_hour_cut else ''}",
        last=wording.moment(group.last_ms),
        example=None
        if example is None
        else Link(example.sample_id, site.sample_url(name, example.sample_id, example.replica)),
    )
