"""Everything about one dataset, read from one snapshot."""

from dataclasses import dataclass

from app.model.ids import DatasetId
from app.progress import samples
from app.progress import statements_dataset as statements
from app.progress.errors import Errors, read_errors
from app.progress.filters import EVERYTHING, Listing
from app.progress.gathering import read_overview
from app.progress.histogram import Histogram, read_histogram
from app.progress.overview import DatasetProgress, Overview
from app.progress.samples import Page
from app.progress.series import Series, Span, read_series
from app.progress.triage import Triage, read_triage
from app.progress.verdict_table import VerdictTable, verdict_table
from app.store.store import Store
from app.store.transaction import Reads


@dataclass(frozen=True, slots=True)
class DatasetPage:
    """One dataset at one moment."""

    as_of_ms: int
    seq: int
    overview: Overview  # of all datasets: what stands around the page is of the same moment
    progress: DatasetProgress
    config: str  # JSON of its settings
    max_attempts: int
    verdicts: VerdictTable
    series: Series
    histogram: Histogram
    triage: Triage
    errors: Errors
    listing: Listing
    samples: Page


@dataclass(frozen=True, slots=True)
class Counts:
    """What is known of a dataset's answers from sums alone."""

    overview: Overview
    progress: DatasetProgress
    verdicts: VerdictTable
    histogram: Histogram
    triage: Triage
    errors: Errors

    @property
    def as_of_ms(self) -> int:
        return self.overview.as_of_ms

    @property
    def seq(self) -> int:
        return self.overview.seq


async def dataset_page(store: Store, name: str, listing: Listing = EVERYTHING, span: Span | None = None) -> DatasetPage:
    """The whole page of a dataset, with one page of its samples; without a span its charts show the whole run."""
    return await store.read(lambda reads: _page(reads, store, name, listing, span))


async def _page(reads: Reads, store: Store, name: str, listing: Listing, span: Span | None) -> DatasetPage:
    counts = await _counts(reads, store, name)
    dataset = DatasetId(counts.progress.id)
    settings = await reads.first(statements.settings(), {"dataset": dataset})
    assert settings is not None
    return DatasetPage(
        as_of_ms=counts.as_of_ms,
        seq=counts.seq,
        overview=counts.overview,
        progress=counts.progress,
        config=settings.config,
        max_attempts=settings.max_attempts,
        verdicts=counts.verdicts,
        series=await read_series(reads, dataset, counts.as_of_ms, span),
        histogram=counts.histogram,
        triage=counts.triage,
        errors=counts.errors,
        listing=listing,
        samples=await samples.page(reads, dataset, listing),
    )


async def dataset_counts(store: Store, name: str) -> Counts:
    """What the routes of single panels show: verdicts, histogram, triage and errors."""
    return await store.read(lambda reads: _counts(reads, store, name))


async def _counts(reads: Reads, store: Store, name: str) -> Counts:
    now_ms = store.now_ms()
    overview = await read_overview(reads, store, now_ms)
    progress = overview.dataset(name)
    dataset, table = DatasetId(progress.id), verdict_table(progress.tally)
    return Counts(
        overview=overview,
        progress=progress,
        verdicts=table,
        histogram=await read_histogram(reads, dataset, table.done),
        triage=await read_triage(reads, dataset, table.done),
        errors=await read_errors(reads, dataset, now_ms, progress.tally),
    )
