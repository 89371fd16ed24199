"""One batch of rows into the store, in one transaction."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.intake import statements
from app.intake.dataset import find_or_create
from app.intake.matching import CROWD, Crowd, Matched, New, Standing, names, plan
from app.intake.request import ImportRequest
from app.intake.results import Results, Taken, add_results
from app.intake.rows import Row, asked_content
from app.model.config import DatasetConfig
from app.model.errors import IntegrityFailure, UsageError
from app.model.ids import DatasetId
from app.responses.imported import Bodies, Result
from app.store.batch import bind_rows
from app.store.transaction import Tx

_ALL = 2**62  # an upper end for occurrences


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to be added, and what the import knows so far."""

    request: ImportRequest
    dataset: DatasetId | None  # None: to be made with the first sample
    source: int | None  # None until the first sample is added
    rank: int
    config: DatasetConfig
    rows: Sequence[Row]
    matched: Matched  # only read here: a transaction may be tried again
    rows_read: int  # of the file, these included
    rows_rejected: int
    results: Mapping[int, Result] = field(default_factory=dict)  # by line: answers of an earlier run, read
    answered: Matched = field(default_factory=Matched)  # see Results, as the next
    tries: Mapping[int, frozenset[Bodies]] = field(default_factory=dict)

    @property
    def into(self) -> DatasetId:
        """The dataset, which is there by now."""
        assert self.dataset is not None
        return self.dataset


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a batch came to."""

    dataset: DatasetId
    source: int | None
    added: int = 0
    repeated: int = 0
    dropped: int = 0
    matched: Sequence[int] = ()
    crowds: Mapping[str, Crowd] = field(default_factory=dict)
    conflicts: Sequence[tuple[Row, str]] = ()  # each with the place of the earlier row
    duplicates: Sequence[tuple[Row, str]] = ()
    taken: Taken = field(default_factory=Taken)  # of rows that hold an answer


async def add_batches(tx: Tx, batches: Sequence[Batch]) -> list[Outcome]:
    """Add what is new of each batch; the operation for `Store.write`."""
    return [await _add(tx, batch) for batch in batches]


async def _add(tx: Tx, batch: Batch) -> Outcome:
    """Prompts first, then the rows that hold an answer. Into a new dataset at least the first row goes."""
    if batch.dataset is None:
        batch = replace(batch, dataset=await find_or_create(tx, batch.request))
    prompts = [row for row in batch.rows if row.result is None]
    outcome = await _add_prompts(tx, replace(batch, rows=prompts))
    answered = [row for row in batch.rows if row.result is not None]
    if not answered:
        return outcome
    source, taken = await _add_results(tx, replace(batch, rows=answered, source=outcome.source))
    return replace(outcome, source=source, taken=taken)


async def _add_results(tx: Tx, batch: Batch) -> tuple[int | None, Taken]:
    """Give results to their jobs, making those that are not there; the file's number, and what became of the rows."""
    source = batch.source

    async def insert(rows: Sequence[Row]) -> None:
        nonlocal source
        source = await _insert(tx, replace(batch, source=source), [New(row, 1) for row in rows])

    results = Results(batch.into, batch.request.source_name, batch.rows, batch.results, batch.answered, batch.tries)
    taken = await add_results(tx, results, insert)
    return source, taken


async def _add_prompts(tx: Tx, batch: Batch) -> Outcome:
    made = plan(batch.rows, await _standing(tx, batch), batch.matched, batch.request.repeats)
    source = await _insert(tx, batch, made.new) if made.new else batch.source
    places = await _places(tx, batch.into, [*made.conflicts, *made.duplicates])
    return Outcome(
        batch.into,
        source,
        added=len(made.new),
        repeated=made.repeated,
        dropped=len(made.dropped),
        matched=made.matched,
        crowds=made.crowds,
        conflicts=[(row, places[row.identity.base_id]) for row in made.conflicts],
        duplicates=[(row, places[row.identity.base_id]) for row in made.duplicates],
    )


async def _standing(tx: Tx, batch: Batch) -> dict[str, list[Standing]]:
    """The samples under the base ids of the batch: as many as it may need, and all where that was not enough."""
    asked: dict[str, int] = {}
    for row in batch.rows:
        asked[row.identity.base_id] = asked.get(row.identity.base_id, 0) + 1
    windows = [_window(base_id, count, batch) for base_id, count in asked.items()]
    found = await _standing_in(tx, batch, windows)
    full = {base_id for base_id, used, until in windows if len(found.get(base_id, ())) >= until - used}
    short = full if batch.request.repeats.need_all else _short(batch, full, found)
    if short:
        found |= await _standing_in(
            tx, batch, [(base_id, used, _ALL) for base_id, used, _ in windows if base_id in short]
        )
    return found


def _short(batch: Batch, base_ids: set[str], found: Mapping[str, Sequence[Standing]]) -> set[str]:
    """Those of the base ids that have rows which none of the samples found is: further ones may be theirs."""
    if not base_ids:
        return set()
    wanted = Counter((row.identity.base_id, row.content) for row in batch.rows)
    for base_id in base_ids:
        wanted.subtract((base_id, sample.content) for sample in found[base_id] if batch.matched.leaves(sample))
    return {base_id for (base_id, _), count in wanted.items() if count > 0} & base_ids


def _window(base_id: str, count: int, batch: Batch) -> tuple[str, int, int]:
    """The occurrences to look at. One in the middle may be ours already, so a few more than the rows need."""
    crowd = None if batch.request.repeats.need_all else batch.matched.crowds.get(base_id)
    used = crowd.used if crowd else 0
    return base_id, used, used + count + CROWD


async def _standing_in(tx: Tx, batch: Batch, windows: Sequence[tuple[str, int, int]]) -> dict[str, list[Standing]]:
    params = {"dataset": batch.into, "bases": bind_rows(windows)}
    found: dict[str, list[Standing]] = {}
    for row in await tx.rows(statements.standing(), params):
        ours = row.source_id is not None and row.source_id == batch.source
        content = asked_content(row.content_sha256, row.params)
        found.setdefault(row.base_id, []).append(Standing(row.id, row.occurrence, content, ours))
    return found


async def _insert(tx: Tx, batch: Batch, new: Sequence[New]) -> int:
    """Add samples and their jobs; the number of the source that they come from."""
    await tx.seq()
    source = await _source(tx, batch)
    sample_ids = await _free_names(tx, batch.into, new)
    samples = bind_rows(_columns(sample_id, one) for sample_id, one in zip(sample_ids, new, strict=True))
    added = await tx.run(statements.add_samples(), {"dataset": batch.into, "source": source, "samples": samples})
    last = int(await tx.value(statements.highest_ordinal(), {"dataset": batch.into}))
    named = zip(sample_ids, new, strict=True)
    jobs = [job for place, (name, one) in enumerate(named, last + 1) for job in _jobs(batch.config, place, name, one)]
    queued = await tx.run(statements.add_jobs(), {"dataset": batch.into, "rank": batch.rank, "jobs": bind_rows(jobs)})
    if added != len(new) or queued != len(jobs):
        raise IntegrityFailure(
            f"Of {len(new)} new rows the store took {added} samples and {queued} of {len(jobs)} jobs. Nothing was kept."
        )
    return source


async def _source(tx: Tx, batch: Batch) -> int:
    """The row of the file, made with its first sample; it counts what was read so far."""
    if batch.source is not None:
        counts = {"source": batch.source, "rows_read": batch.rows_read, "rows_rejected": batch.rows_rejected}
        await tx.run(statements.count_source(), counts)
        return batch.source
    return int(await tx.value(statements.new_source(), source_row(batch, tx.now_ms)))


def source_row(batch: Batch, now_ms: int) -> dict[str, int | str]:
    """The row of a file that is being read."""
    return {
        "dataset_id": batch.into,
        "name": batch.request.source_name,
        "rows": batch.rows_read,
        "rejected": batch.rows_rejected,
        "started_ms": now_ms,
    }


def _columns(sample_id: str, new: New) -> tuple[int | str | None, ...]:
    row, identity = new.row, new.row.identity
    content = identity.content_sha256
    return sample_id, identity.base_id, new.occurrence, content, row.messages, row.tools, row.settings, row.line


def _jobs(config: DatasetConfig, ordinal: int, sample_id: str, new: New) -> Iterator[tuple[int | str | None, ...]]:
    """The jobs of a sample. Several answers to one prompt need seeds of their own, or a server may give one twice."""
    seeds: Iterable[int | None] = (None,)
    if config.samples > 1:
        settings = {} if new.row.settings is None else json.loads(new.row.settings)
        first = settings.get("seed", config.extra.get("seed", 0))
        if not isinstance(first, int):
            raise UsageError(f"Row {new.row.line} sets seed {first!r}; several answers a prompt need a whole number.")
        seeds = range(first, first + config.samples)
    for replica, seed in enumerate(seeds):
        yield ordinal, sample_id, replica, seed, new.row.turns


async def _free_names(tx: Tx, dataset: DatasetId, new: Sequence[New]) -> list[str]:
    """A name for each new sample that no sample of the dataset has."""
    busy: set[str] = set()
    while True:
        wanted = names(new, busy)
        params = {"dataset": dataset, "names": bind_rows((name,) for name in wanted)}
        found = {str(row[0]) for row in await tx.rows(statements.taken(), params)}
        if not found:
            return wanted
        busy |= found


async def _places(tx: Tx, dataset: DatasetId, rows: Sequence[Row]) -> dict[str, str]:
    """For base ids in conflict: where their first sample came from, in words."""
    if not rows:
        return {}
    bases = bind_rows((base_id,) for base_id in sorted({row.identity.base_id for row in rows}))
    found = await tx.rows(statements.first_places(), {"dataset": dataset, "bases": bases})
    return {row.base_id: f"line {row.source_row} of {row.name or 'an earlier import'}" for row in found}
