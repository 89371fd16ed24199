"""Retry: a person asks for new attempts. The earlier accepted answer of a job stands until a new one is accepted."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.leasing import events, statements_people
from app.model.errors import UsageError
from app.model.ids import DatasetId
from app.model.lease import Cause
from app.model.loss_flags import LossFlag
from app.model.states import Event, JobState, sources
from app.model.verdicts import Verdict
from app.store.store import Store
from app.store.transaction import Tx

PAGE = 5_000  # places in the order of import that one transaction looks through
RETRYABLE = sources(Event.RETRY)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which jobs: those that fit every filter that was said. What is ready, leased or waiting is being asked anyway."""

    states: tuple[JobState, ...] = ()
    verdicts: tuple[Verdict, ...] = ()  # of done jobs
    causes: tuple[Cause, ...] = ()  # of failed jobs
    flag: LossFlag | None = None  # of done jobs

    def __post_init__(self) -> None:
        if not (self.states or self.verdicts or self.causes or self.flag):
            raise UsageError("Say which jobs: --state, --verdict, --cause or --flag.")
        wrong = sorted(set(self.states) - set(RETRYABLE))
        if wrong:
            raise UsageError(f"Jobs that are {', '.join(wrong)} are asked anyway. Known: {', '.join(RETRYABLE)}.")
        if not self.effective_states:
            raise UsageError("No job fits: verdicts and flags are those of done jobs, causes those of failed ones.")

    @property
    def effective_states(self) -> frozenset[JobState]:
        """The states that jobs of this selection can be in."""
        states = frozenset(self.states or RETRYABLE)
        if self.verdicts or self.flag:
            states &= {JobState.DONE}
        if self.causes:
            states &= {JobState.FAILED}
        return states

    def params(self, dataset: DatasetId) -> dict[str, Any]:
        """The selection as the statements take it."""
        return {
            "dataset": dataset,
            "states": sorted(self.effective_states),
            "any_verdict": int(not self.verdicts),
            "verdicts": sorted(self.verdicts),
            "any_cause": int(not self.causes),
            "causes": sorted(self.causes),
            "any_flag": int(self.flag is None),
            "flag": self.flag,
        }


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """Jobs that are alike: their state, and the verdict of a done one or the cause of a failed one."""

    state: JobState
    why: str | None


@dataclass(frozen=True, slots=True)
class Retry:
    """New attempts for a selection; `max_tokens` is what these jobs are asked with from now on."""

    dataset: DatasetId
    selection: Selection
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Page:
    retry: Retry
    after: int
    until: int


@dataclass(slots=True)
class Selected:
    """How many jobs of each kind."""

    kinds: Counter[Kind] = field(default_factory=Counter)
    last_ordinal: int = 0

    @property
    def jobs(self) -> int:
        return self.kinds.total()


async def select(store: Store, dataset: DatasetId, selection: Selection) -> Selected:
    """Count the jobs of a selection."""
    found = Selected()
    async with store.snapshot() as reads:
        rows = await reads.rows(statements_people.retryable(), selection.params(dataset))
    for row in rows:
        why = row.verdict if row.state == JobState.DONE else row.cause if row.state == JobState.FAILED else None
        found.kinds[Kind(JobState(row.state), why)] += row.n
        found.last_ordinal = max(found.last_ordinal, row.last_ordinal)
    return found


async def retry(store: Store, request: Retry, selected: Selected) -> int:
    """Make the jobs ready again, a page at a time; how many were. Those that moved meanwhile are left alone."""
    moved = 0
    for after in range(0, selected.last_ordinal, PAGE):
        moved += await store.write(_retry_pages, _Page(request, after, after + PAGE))
    if moved:
        await store.write(_note, (request, moved))
    return moved


async def _retry_pages(tx: Tx, pages: Sequence[_Page]) -> list[int]:
    return [await _retry_page(tx, page) for page in pages]


async def _retry_page(tx: Tx, page: _Page) -> int:
    request = page.retry
    params = None if request.max_tokens is None else json.dumps({"max_tokens": request.max_tokens})
    which = request.selection.params(request.dataset) | {"after": page.after, "until": page.until}
    moved = await tx.run(statements_people.retry(), which | {"to_params": params})
    if moved:
        await tx.seq()
    return moved


async def _note(tx: Tx, ends: Sequence[tuple[Retry, int]]) -> list[None]:
    for request, moved in ends:
        chosen = request.selection
        flags = [] if chosen.flag is None else [chosen.flag]
        words = ",".join([*chosen.states, *chosen.verdicts, *chosen.causes, *flags])
        await tx.seq()
        await events.note(tx, "retried", dataset=request.dataset, jobs=moved, chosen=words)
    return [None] * len(ends)
