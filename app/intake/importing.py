"""A file into the store: read, put into normal form, matched with what is there, added."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.streams.memory import MemoryObjectSendStream

from app.intake import companions, known
from app.intake.adding import Batch, Outcome, add_batches
from app.intake.chunks import Chunk, Tally, chunks
from app.intake.dataset import Target, check_name, find
from app.intake.finishing import End, finish
from app.intake.lines import STDIN, Rows, open_lines
from app.intake.matching import Matched
from app.intake.rejects import UNANSWERED, UNCAPTURED, SideFile, places, record
from app.intake.request import ImportReport, ImportRequest, Progress, is_readable
from app.intake.results import Taken, find_prompts, without_breaks
from app.intake.rows import Reject, Row
from app.model.config import DatasetConfig
from app.model.errors import NotFound, Refused, UsageError
from app.responses.imported import Bodies, Result, read_result
from app.store.store import Store

_AHEAD = 1  # chunks that are read while one is being written


async def import_file(store: Store, request: ImportRequest, progress: Callable[[Progress], None]) -> ImportReport:
    """Add the rows of a file that the dataset does not have yet.

    What is committed stays when an import is cut off; running it again adds the rest, and after a whole one nothing.
    """
    check_name(request.dataset)
    check_file(request.path)
    _refuse_the_store(request.path, store.place.path)
    folder = store.place.path.parent
    with (
        open_lines(request.path) as lines,
        SideFile(places(request.path, request.dataset, folder)) as out,
        SideFile(places(request.path, request.dataset, folder, UNCAPTURED)) as uncaptured,
        SideFile(places(request.path, request.dataset, folder, UNANSWERED)) as unanswered,
    ):
        target = await find(store, request)
        request = request.into(target.config)
        if (again := await known.recall(store, target.id, request)) is not None:
            progress(Progress(lines.size or 0, lines.size, again.rows, 0, 0))
            return replace(again, samples=target.config.samples)
        run = _Import(store, request, target, lines, out, uncaptured, progress)
        send, receive = anyio.create_memory_object_stream[Chunk](_AHEAD)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, chunks(lines, request.reading, request.limit), send)
            async with receive:
                async for chunk in receive:
                    await run.take(chunk)
        return await run.finish(unanswered)


def check_file(path: str) -> None:
    """Refuse what is no readable file of rows, before anything is made for it."""
    if path == STDIN:
        return
    if not Path(path).exists():
        raise NotFound(f"There is no file {path}.")
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder. Import its files one by one.")
    if not is_readable(path):
        raise UsageError(
            f"{path}: files of this kind are not read. Read are .jsonl, .json, .csv, .tsv, .traj (each plain, gzip or "
            "zstd) and .parquet."
        )


def _refuse_the_store(path: str, store: Path) -> None:
    """A second descriptor on the store's files would, when closed, drop the locks that SQLite holds on them."""
    if path == STDIN:
        return
    files = (store.with_name(store.name + ending) for ending in ("", "-wal", "-shm"))
    if any(file.exists() and file.samefile(path) for file in files):
        raise Refused(f"{path} is the store itself. Name the file with the prompts.")


async def _read(source: Iterator[Chunk], send: MemoryObjectSendStream[Chunk]) -> None:
    """Read chunks in a thread, a few ahead of the writer: the database works outside the interpreter's lock."""
    async with send:
        while (chunk := await to_thread.run_sync(next, source, None, abandon_on_cancel=True)) is not None:
            await send.send(chunk)


class _Import:
    """One import while it runs: what it has matched, and its counts."""

    def __init__(
        self,
        store: Store,
        request: ImportRequest,
        target: Target,
        lines: Rows,
        out: SideFile,
        uncaptured: SideFile,
        progress: Callable[[Progress], None],
    ) -> None:
        self._store = store
        self._request = request
        self._target = target
        self._lines = lines
        self._out = out
        self._uncaptured = uncaptured
        self._results: Counter[str] = Counter()
        self._answered = Matched()
        self._tries: dict[int, frozenset[Bodies]] = {}
        self._progress = progress
        self._matched = Matched()
        self._tally = Tally()
        self._dataset = target.id
        self._source: int | None = None
        self._damage: str | None = None
        self._rows = self._added = self._present = self._dropped = self._rejected = self._repeated = 0

    async def take(self, chunk: Chunk) -> None:
        """Store a chunk; its rejects are written down after its commit."""
        self._rows += chunk.count
        self._rejected += len(chunk.rejects)
        self._tally.add_rows(chunk.rows)
        refused = await self._add(chunk.rows) if chunk.rows else []
        self._rejected += len(refused)
        rejects = sorted(chunk.rejects + refused, key=lambda reject: reject.line)
        self._damage = next((reject.detail for reject in rejects if reject.reason == "damaged_file"), self._damage)
        self._tally.add_rejects(rejects)
        self._out.write([record(reject) for reject in rejects])
        self._progress(Progress(chunk.bytes_read, self._lines.size, self._rows, self._added, self._rejected))

    async def _add(self, rows: list[Row]) -> list[Reject]:
        """Add what is new; the rows that the store's contents forbid."""
        rows, without = await find_prompts(self._store, self._dataset, rows)
        read = await to_thread.run_sync(_read_results, rows, self._target.config)
        rows, broken = without_breaks(rows, read)
        outcome = await self._store.write(add_batches, self._batch(rows, read))
        self._dataset, self._source = outcome.dataset, outcome.source
        self._matched.add(outcome.matched, outcome.crowds)
        self._added += outcome.added
        self._present += len(outcome.matched)
        self._dropped += outcome.dropped
        self._repeated += outcome.repeated
        self._count(outcome.taken)
        return without + broken + _refused(outcome, self._request.source_name) + outcome.taken.rejects

    def _count(self, taken: Taken) -> None:
        """A result that fills a job which was there adds no sample."""
        self._matched.add(taken.seen, {})
        self._answered.add(taken.seen, {})
        self._added += len(taken.fresh)
        self._present += len(taken.present) + len(taken.filled)
        self._results.update(taken.verdicts)
        self._tries |= taken.tries
        self._uncaptured.write(taken.uncaptured)

    def _batch(self, rows: list[Row], read: Mapping[int, Result] | None = None) -> Batch:
        return Batch(
            self._request,
            self._dataset,
            self._source,
            self._target.rank,
            self._target.config,
            rows,
            self._matched,
            self._rows,
            self._rejected,
            read or {},
            self._answered,
            self._tries,
        )

    async def finish(self, unanswered: SideFile) -> ImportReport:
        """Write down what the file was, and report."""
        self._out.end()
        self._uncaptured.end()
        report = self._report()
        if self._dataset is not None and report.formats.get(companions.FORMAT):
            run = companions.Run(self._dataset, self._request.path, self._request.reading)
            fates = await companions.account(self._store, run, unanswered.write)
            unanswered.end()
            report = replace(report, fates=dict(fates), unanswered=unanswered.path)
        if self._dataset is not None:
            await self._store.write(finish, End(self._batch([]), report, self._lines.bytes_read))
        return report

    def _report(self) -> ImportReport:
        return ImportReport(
            dataset=self._request.dataset,
            file=self._request.source_name,
            sha256=self._lines.sha256,
            created=self._target.id is None and self._dataset is not None,
            rows=self._rows,
            added=self._added,
            present=self._present,
            dropped=self._dropped,
            rejected=self._rejected,
            repeated=self._repeated,
            formats=dict(self._tally.formats),
            notes=dict(self._tally.notes),
            reasons=dict(self._tally.reasons),
            damage=self._damage,
            rejects=self._out.path,
            results=dict(self._results),
            uncaptured=self._uncaptured.path,
            conversations=self._tally.conversations,
            turns=self._tally.turns,
            samples=self._target.config.samples,
        )


def _read_results(rows: list[Row], config: DatasetConfig) -> dict[int, Result]:
    """The rows that hold an answer, read by the settings of their dataset."""
    return {row.line: read_result(row.result, row.messages, config) for row in rows if row.result is not None}


def _refused(outcome: Outcome, file: str) -> list[Reject]:
    """The rejects that only the store could find, each naming both places."""
    found = [
        (
            row,
            "conflicting_id",
            f"{row.identity.base_id!r} has other content at {place} than at line {row.line} of {file}",
        )
        for row, place in outcome.conflicts
    ] + [
        (row, "duplicate", f"{row.identity.base_id!r} at line {row.line} of {file} is the same as at {place}")
        for row, place in outcome.duplicates
    ]
    return [Reject(row.line, reason, detail, row.messages[:200]) for row, reason, detail in found]
