"""What a dataset holds at one moment: the numbers that an export says first, and what it must add up to at the end."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.export import statements
from app.export.request import Only, lost_reasoning, takes
from app.model.errors import IntegrityFailure, NotFound
from app.model.ids import DatasetId, Seq
from app.model.states import OPEN, JobState
from app.model.verdicts import Verdict
from app.store.store import Store
from app.store.transaction import Reads

IDS_LISTED = 1000  # of what is left out, in the manifest


@dataclass(frozen=True, slots=True)
class Group:
    """Jobs that are alike. `verdict` and `finish_reason` are those of the accepted answer where one stands."""

    state: JobState
    cause: str | None
    verdict: Verdict | None
    finish_reason: str | None
    answered: bool
    jobs: int
    turns: int = 1  # the most that one of them has

    @property
    def reason(self) -> str:
        """Why a job of this group has no answer."""
        return f"failed:{self.cause}" if self.state is JobState.FAILED else str(self.state)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One job that is not exported, and why."""

    sample_id: str
    replica: int
    reason: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that the dataset was imported from; `sha256` is None where it was not read to its end."""

    name: str
    sha256: str | None
    rows: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Census:
    """A dataset as of `seq`."""

    dataset: DatasetId
    name: str
    store_id: str
    epoch: int
    seq: Seq
    highest_job: int
    last_ordinal: int
    replicated: bool
    total: int  # as the counters say
    groups: tuple[Group, ...]
    unanswered: tuple[LeftOut, ...]  # the first of them
    sources: tuple[SourceFile, ...]

    def state(self, *states: JobState) -> int:
        return sum(group.jobs for group in self.groups if group.state in states)

    @property
    def complete(self) -> bool:
        """Every job is done, or was taken out by a person."""
        return self.state(*OPEN, JobState.FAILED) == 0

    @property
    def conversations(self) -> bool:
        """Whether an answer of several turns may be among the accepted ones."""
        return any(group.turns > 1 for group in self.groups if group.answered)

    @property
    def foreseen(self) -> bool:
        """Whether the verdict of every accepted answer is known without reading it."""
        return all(group.verdict is not None for group in self.groups if group.answered)

    @property
    def verdicts(self) -> Mapping[Verdict, int]:
        """Accepted answers by verdict."""
        found: Counter[Verdict] = Counter()
        for group, verdict in self._answered():
            found[verdict] += group.jobs
        return found

    def taken(self, only: Only) -> int:
        """Answers that such an export takes."""
        return sum(count for verdict, count in self.verdicts.items() if takes(only, verdict))

    @property
    def lost(self) -> int:
        """Answers that have lost their reasoning, or hold it in the wrong column."""
        return sum(count for verdict, count in self.verdicts.items() if lost_reasoning(verdict))

    @property
    def without_answer(self) -> Mapping[str, int]:
        """Jobs without an accepted answer, by the reason."""
        found: Counter[str] = Counter()
        for group in self.groups:
            if not group.answered:
                found[group.reason] += group.jobs
        return found

    def left_out(self, only: Only) -> dict[str, int]:
        """All that such an export leaves out, by the reason."""
        by_verdict = {str(verdict): count for verdict, count in self.verdicts.items() if not takes(only, verdict)}
        return by_verdict | dict(self.without_answer)

    def _answered(self) -> Iterator[tuple[Group, Verdict]]:
        for group in self.groups:
            if group.answered and group.verdict is not None:
                yield group, group.verdict


async def take_census(store: Store, name: str) -> Census:
    """Count a dataset in one snapshot."""
    async with store.snapshot(settled=True) as reads:
        dataset = await _named(reads, name)
        of_dataset = {"dataset": dataset}
        facts = await reads.first(statements.store_facts())
        assert facts is not None
        extent = await reads.first(statements.extent(), of_dataset)
        census = Census(
            dataset=dataset,
            name=name,
            store_id=facts.store_id,
            epoch=facts.epoch,
            seq=Seq(facts.seq),
            highest_job=int(await reads.value(statements.highest_job()) or 0),
            last_ordinal=extent.ordinal if extent else 0,
            replicated=extent is not None and extent.replica > 0,
            total=int(await reads.value(statements.counted_jobs(), of_dataset)),
            groups=await _groups(reads, dataset),
            unanswered=await _unanswered(reads, dataset),
            sources=await _sources(reads, dataset),
        )
    counted = sum(group.jobs for group in census.groups)
    if counted != census.total:
        raise IntegrityFailure(
            f"Dataset {name} holds {counted:,} jobs, but its counters say {census.total:,}. Nothing was exported. "
            "Stop the workers and run `thinkledger verify`."
        )
    return census


async def _named(reads: Reads, name: str) -> DatasetId:
    found = await reads.first(statements.dataset_named(), {"name": name})
    if found is not None:
        return DatasetId(found.id)
    names = [row.name for row in await reads.rows(statements.names())]
    there = f"There are: {', '.join(names)}." if names else "The store is empty."
    raise NotFound(f"There is no dataset {name!r}. {there}")


async def _groups(reads: Reads, dataset: DatasetId) -> tuple[Group, ...]:
    rows = await reads.rows(statements.census(), {"dataset": dataset})
    return tuple(
        Group(
            state=JobState(row.state),
            cause=row.cause,
            verdict=None if row.verdict is None else Verdict(row.verdict),
            finish_reason=row.finish_reason,
            answered=bool(row.answered),
            jobs=row.n,
            turns=row.turns,
        )
        for row in rows
    )


async def _unanswered(reads: Reads, dataset: DatasetId) -> tuple[LeftOut, ...]:
    rows = await reads.rows(statements.unanswered(), {"dataset": dataset, "limit": IDS_LISTED})
    return tuple(LeftOut(row.sample_id, row.replica, _reason(row.state, row.cause)) for row in rows)


def _reason(state: str, cause: str | None) -> str:
    return Group(JobState(state), cause, None, None, answered=False, jobs=1).reason


async def _sources(reads: Reads, dataset: DatasetId) -> tuple[SourceFile, ...]:
    rows = await reads.rows(statements.sources(), {"dataset": dataset})
    return tuple(SourceFile(row.name, row.sha256, row.rows, row.rejected) for row in rows)
