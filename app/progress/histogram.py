"""How long the reasoning of done jobs is: counts in bins that double, kept by a trigger."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.model.bins import BINS
from app.model.ids import DatasetId
from app.progress import statements_dataset as statements
from app.store.transaction import Reads


@dataclass(frozen=True, slots=True)
class Bin:
    """Lengths from `least` to `most` characters, both included; `most` is None in the last bin."""

    least: int
    most: int | None
    jobs: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """Every bin, empty ones too. All bins and `without` are the done jobs."""

    bins: tuple[Bin, ...]
    without: int  # done jobs without reasoning

    @property
    def jobs(self) -> int:
        return sum(found.jobs for found in self.bins)


def histogram(counts: Mapping[int, int], done: int) -> Histogram:
    """The histogram of counts by the least length of their bin, beside all done jobs."""
    ends = (*(least - 1 for least in BINS[1:]), None)
    bins = tuple(Bin(least, most, counts.get(least, 0)) for least, most in zip(BINS, ends, strict=True))
    return Histogram(bins, done - sum(found.jobs for found in bins))


async def read_histogram(reads: Reads, dataset: DatasetId, done: int) -> Histogram:
    """The histogram of a dataset with so many done jobs."""
    rows = await reads.rows(statements.lengths(), {"dataset": dataset})
    return histogram({row.least: row.n for row in rows}, done)
