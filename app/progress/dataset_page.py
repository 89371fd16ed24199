"""Everything about one dataset, read from one snapshot."""

from dataclasses import dataclass

from app.progress.errors import Errors
from app.progress.filters import Listing
from app.progress.histogram import Histogram
from app.progress.overview import DatasetProgress
from app.progress.samples import Page
from app.progress.series import Series
from app.progress.triage import Triage
from app.progress.verdict_table import VerdictTable


@dataclass(frozen=True, slots=True)
class DatasetPage:
    """One dataset at one moment."""

    as_of_ms: int
    seq: int
    progress: DatasetProgress
    config: str  # JSON of its settings
    max_attempts: int
    stalled: bool  # leases are out, and no answer came for far longer than answers take
    verdicts: VerdictTable
    series: Series
    histogram: Histogram
    triage: Triage
    errors: Errors
    listing: Listing
    samples: Page
