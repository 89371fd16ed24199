"""Cancel: a person takes jobs out by filter. What is done stays; `retry --state cancelled` brings them back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.leasing import events, statements_people
from app.leasing.retry import PAGE, Kind, Selected
from app.model.errors import UsageError
from app.model.ids import DatasetId
from app.model.lease import Cause
from app.model.states import Event, JobState, sources
from app.store.batch import bind_rows
from app.store.store import Store
from app.store.transaction import Tx

CANCELLABLE = sources(Event.CANCEL)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which jobs: those that fit every filter that was said; `everything` is one too."""

    states: tuple[JobState, ...] = ()
    causes: tuple[Cause, ...] = ()  # of the latest failure
    everything: bool = False

    def __post_init__(self) -> None:
        if self.everything == bool(self.states or self.causes):
            raise UsageError("Say which jobs: --state, --cause, or --all for every job that is not done.")
        wrong = sorted(set(self.states) - set(CANCELLABLE))
        if wrong:
            raise UsageError(f"Jobs that are {', '.join(wrong)} cannot be cancelled. Known: {', '.join(CANCELLABLE)}.")

    def params(self, dataset: DatasetId) -> dict[str, Any]:
        """The selection as the statements take it."""
        return {
            "dataset": dataset, "states": sorted(self.states or CANCELLABLE), "any_verdict": 1, "verdicts": [],
            "any_cause": int(not self.causes), "causes": sorted(self.causes), "any_flag": 1, "flag": None,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Page:
    dataset: DatasetId
    selection: Selection
    after: int
    until: int


async def select(store: Store, dataset: DatasetId, selection: Selection) -> Selected:
    """Count the jobs of a selection by state and cause."""
    found = Selected()
    async with store.snapshot() as reads:
        rows = await reads.rows(statements_people.retryable(), selection.params(dataset))
    for row in rows:
        found.kinds[Kind(JobState(row.state), row.cause)] += row.n
        found.last_ordinal = max(found.last_ordinal, row.last_ordinal)
    return found


async def cancel(store: Store, dataset: DatasetId, selection: Selection, selected: Selected) -> int:
    """Take the jobs out, a page at a time; how many. An answer that one had before a retry stands no longer, and one
    that a worker still brings is kept as late.
    """
    moved = 0
    for after in range(0, selected.last_ordinal, PAGE):
        moved += await store.write(_pages, _Page(dataset, selection, after, after + PAGE))
    if moved:
        await store.write(_note, (dataset, moved))
    return moved


async def _pages(tx: Tx, pages: Sequence[_Page]) -> list[int]:
    return [await _page(tx, page) for page in pages]


async def _page(tx: Tx, page: _Page) -> int:
    which = page.selection.params(page.dataset) | {"after": page.after, "until": page.until}
    moved = await tx.rows(statements_people.cancel_chosen(), which)
    if moved:
        jobs = bind_rows((row.id,) for row in moved)
        await tx.run(statements_people.supersede_answers(), {"jobs": jobs, "at_seq": await tx.seq()})
    return len(moved)


async def _note(tx: Tx, ends: Sequence[tuple[DatasetId, int]]) -> list[None]:
    for dataset, moved in ends:
        await tx.seq()
        await events.note(tx, "cancelled", dataset=dataset, jobs=moved)
    return [None] * len(ends)
