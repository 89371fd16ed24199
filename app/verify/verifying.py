"""A verification from its first finding to its report: one snapshot, pages by number, constant memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from anyio import to_thread

from app.capture import PARSER_VERSION
from app.model.ids import JobId
from app.store.batch import bind_rows
from app.store.soundness import complaints, dangling
from app.store.store import Store
from app.store.transaction import Reads
from app.verify import statements
from app.verify.bodies import check_body, check_response
from app.verify.findings import RESTORE, Finding, Report
from app.verify.histories import BATCH, check_histories
from app.verify.jobs import check_job
from app.verify.page_sums import (
    PageSums,
    compare_brought,
    compare_cells,
    compare_groups,
    compare_latencies,
    compare_lengths,
)
from app.verify.recount import Recount, compare_counters, compare_minutes, compare_totals
from app.verify.windows import check_holds, check_windows

PAGE = 2_000  # numbers of jobs or responses
BYTES = 16 * 2**20  # of uncompressed bodies in memory; a larger one goes alone
SPOT_CHECKS = 500  # bodies that are read without --full, evenly spread


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told of findings as they come, and of the progress."""

    finding: Callable[[Finding], None]
    progress: Callable[[int, int], None] = lambda _done, _total: None


async def verify(store: Store, told: Told, *, full: bool) -> Report:
    """Compare all that a store says twice. `full` hashes and reads every body anew, and checks every index."""
    async with store.snapshot(settled=True) as reads:
        return await _Verification(reads, told, full).run()


@dataclass(slots=True)
class _Verification:
    reads: Reads
    told: Told
    full: bool
    report: Report = field(default_factory=Report)
    counted: Recount = field(default_factory=Recount)
    sums: PageSums = field(default_factory=PageSums)
    names: dict[int, str] = field(default_factory=dict)
    parser_version: int = 0
    jobs: int = 0  # the highest numbers
    responses: int = 0
    failures: int = 0

    async def run(self) -> Report:
        await self._begin()
        broken = await complaints(self.reads, full=self.full)
        self._tell(Finding(f"SQLite says: {words}", RESTORE) for words in broken)
        if broken:
            return self.report  # what is read from a broken file says nothing
        self._tell(Finding(words, RESTORE) for words in await dangling(self.reads))
        for after in range(0, self.jobs, PAGE):
            await self._check_jobs(after)
        for after in range(0, self.responses, PAGE):
            await self._check_responses(after)
        for after in range(0, self.failures, PAGE):
            await self._count_failures(after)
        await self._check_sums()
        await self._check_page_sums()
        return self.report

    async def _begin(self) -> None:
        meta = await self.reads.first(statements.meta())
        assert meta is not None
        self.report.seq, self.parser_version = meta.seq, meta.parser_version
        self.names = {row.id: row.name for row in await self.reads.rows(statements.datasets())}
        self.jobs = await self.reads.value(statements.last_job()) or 0
        self.responses = await self.reads.value(statements.last_response()) or 0
        self.failures = await self.reads.value(statements.last_failure()) or 0

    def _tell(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.report.findings += 1
            self.told.finding(finding)

    def _name(self, dataset: int | None) -> str:
        return self.names.get(dataset or 0, f"dataset {dataset}")

    async def _check_jobs(self, after: int) -> None:
        page = {"after": after, "until": after + PAGE}
        rows = await self.reads.rows(statements.jobs(), page)
        answers = _by_job(await self.reads.rows(statements.answers(), page))
        turns = _by_job(await self.reads.rows(statements.turns(), page))
        for job in rows:
            self.counted.job(job)
            self.sums.job(job)
            of_job = answers.get(job.id, ()), turns.get(job.id, ())
            self._tell(check_job(job, *of_job, self._name(job.dataset_id)))
        talks = [JobId(job.id) for job in rows if job.turns > 1 and job.turn > 0 and self._chosen_talk(job.id)]
        for place in range(0, len(talks), BATCH):
            self._tell(await check_histories(self.reads, talks[place : place + BATCH], self.names))
        self.report.jobs += len(rows)
        self.told.progress(min(after + PAGE, self.jobs), self.jobs + self.responses)

    async def _check_responses(self, after: int) -> None:
        rows = await self.reads.rows(statements.responses(), {"after": after, "until": after + PAGE})
        for row in rows:
            self.sums.response(row)
            if row.late:
                self.counted.late(row.dataset_id)
            self._tell(check_response(row, self.report.seq, self.parser_version, self._name(row.dataset_id)))
        self.report.responses += len(rows)
        for batch in _cut([row for row in rows if self._chosen(row.id)]):
            await self._check_bodies(batch)
            self.told.progress(self.jobs + batch[-1].id, self.jobs + self.responses)

    async def _count_failures(self, after: int) -> None:
        for row in await self.reads.rows(statements.failures(), {"after": after, "until": after + PAGE}):
            self.sums.failure(row)

    def _chosen(self, response: int) -> bool:
        return self.full or response % max(1, self.responses // SPOT_CHECKS) == 0

    def _chosen_talk(self, job: int) -> bool:
        return self.full or job % max(1, self.jobs // SPOT_CHECKS) == 0

    async def _check_bodies(self, batch: Sequence[Any]) -> None:
        wanted = {"wanted": bind_rows((row.id,) for row in batch)}
        rows = await self.reads.rows(statements.bodies(), wanted)
        self._tell(await to_thread.run_sync(self._read, rows))
        self.report.bodies += len(rows)
        self.report.older_readings += sum(row.seq is not None and row.parser_version != PARSER_VERSION for row in rows)

    def _read(self, rows: Sequence[Any]) -> list[Finding]:
        return [finding for row in rows for finding in check_body(row, self._name(row.dataset_id))]

    async def _check_sums(self) -> None:
        self._tell(compare_counters(self.counted, await self.reads.rows(statements.counters()), self.names))
        self._tell(compare_totals(self.counted, self.names))
        for dataset, name in sorted(self.names.items()):
            stored = await self.reads.rows(statements.buckets(), {"dataset": dataset})
            self._tell(compare_minutes(self.counted, dataset, stored, name))
        self._tell(check_windows(await self.reads.rows(statements.windows()), self.names))
        self._tell(check_holds(await self.reads.rows(statements.holds()), self.report.seq, self.names))

    async def _check_page_sums(self) -> None:
        self._tell(compare_cells(self.sums, await self.reads.rows(statements.cells()), self.names))
        self._tell(compare_lengths(self.sums, await self.reads.rows(statements.lengths()), self.names))
        self._tell(compare_latencies(self.sums, await self.reads.rows(statements.latencies()), self.names))
        self._tell(compare_groups(self.sums, await self.reads.rows(statements.groups()), self.names))
        self._tell(compare_brought(self.sums, await self.reads.rows(statements.brought())))


def _by_job(rows: Sequence[Any]) -> dict[int, list[Any]]:
    return {job: list(of_job) for job, of_job in groupby(rows, key=lambda row: int(row.job_id))}


def _cut(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """As many bodies at a time as fit in memory."""
    batch: list[Any] = []
    size = 0
    for row in rows:
        if batch and size + row.raw_bytes > BYTES:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row.raw_bytes
    if batch:
        yield batch
