"""Everything about one dataset, read from one snapshot."""

from dataclasses import dataclass

from app.model.ids import DatasetId
from app.progress import samples
from app.progress import statements_dataset as statements
from app.progress.errors import Errors, read_errors
from app.progress.filters import EVERYTHING, Listing
from app.progress.gathering import read_overview
from app.progress.histogram import Histogram, read_histogram
from app.progress.overview import DatasetProgress
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

    as_of_ms: int
    seq: int
    progress: DatasetProgress
    verdicts: VerdictTable
    histogram: Histogram
    triage: Triage
    errors: Errors


async def dataset_page(store: Store, name: str, listing: Listing = EVERYTHING, span: Span | None = None) -> DatasetPage:
    """The whole page of a dataset, with one page of its samples; without a span its charts show the whole run."""
    now_ms = store.now_ms()
    async with store.snapshot() as reads:
        counts = await _counts(reads, store, name, now_ms)
        dataset = DatasetId(counts.progress.id)
        settings = await reads.first(statements.settings(), {"dataset": dataset})
        assert settings is not None
        return DatasetPage(
            as_of_ms=now_ms,
            seq=counts.seq,
            progress=counts.progress,
            config=settings.config,
            max_attempts=settings.max_attempts,
            verdicts=counts.verdicts,
            series=await read_series(reads, dataset, now_ms, span),
            histogram=counts.histogram,
            triage=counts.triage,
            errors=counts.errors,
            listing=listing,
            samples=await samples.page(reads, dataset, listing),
        )


async def dataset_counts(store: Store, name: str) -> Counts:
    """What the routes of single panels show: verdicts, histogram, triage and errors."""
    async with store.snapshot() as reads:
        return await _counts(reads, store, name, store.now_ms())


async def _counts(reads: Reads, store: Store, name: str, now_ms: int) -> Counts:
    overview = await read_overview(reads, store, now_ms, name)
    (progress,) = overview.datasets
    dataset, table = DatasetId(progress.id), verdict_table(progress.tally)
    return Counts(
        as_of_ms=now_ms,
        seq=overview.seq,
        progress=progress,
        verdicts=table,
        histogram=await read_histogram(reads, dataset, table.done),
        triage=await read_triage(reads, dataset, table.done),
        errors=await read_errors(reads, dataset, now_ms, progress.tally),
    )
