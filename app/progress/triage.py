"""The triage matrix: how answers ended, and where their reasoning was found. It tells whose fault a loss is."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.model.found import Found
from app.model.ids import DatasetId
from app.progress import statements_dataset as statements
from app.store.transaction import Reads

ROWS = 50  # finish reasons that are shown; a server has a handful
_READ = 1000  # cells


@dataclass(frozen=True, slots=True)
class Cell:
    """Done jobs with one finish reason whose reasoning was found in one place."""

    finish: str
    found: Found
    jobs: int


@dataclass(frozen=True, slots=True)
class TriageRow:
    """One finish reason, as the server said it."""

    finish: str
    cells: Mapping[Found, int]

    @property
    def jobs(self) -> int:
        return sum(self.cells.values())


@dataclass(frozen=True, slots=True)
class Triage:
    """The most frequent finish reasons first. All rows and `others` are the done jobs."""

    rows: tuple[TriageRow, ...]
    others: int  # done jobs with rarer finish reasons, or with none


def triage(cells: Iterable[Cell], done: int) -> Triage:
    """The matrix of all cells, beside all done jobs."""
    rows: dict[str, dict[Found, int]] = defaultdict(lambda: dict.fromkeys(Found, 0))
    for cell in cells:
        rows[cell.finish][cell.found] += cell.jobs
    known = [TriageRow(finish, counts) for finish, counts in rows.items() if any(counts.values())]
    shown = tuple(sorted(known, key=lambda row: (-row.jobs, row.finish))[:ROWS])
    return Triage(shown, done - sum(row.jobs for row in shown))


async def read_triage(reads: Reads, dataset: DatasetId, done: int) -> Triage:
    """The matrix of a dataset with so many done jobs."""
    rows = await reads.rows(statements.cells(), {"dataset": dataset, "limit": _READ})
    return triage([Cell(row.finish_reason, Found(row.found), row.n) for row in rows], done)
