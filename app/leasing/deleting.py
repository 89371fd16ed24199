"""Delete a dataset: refused while leases live, or while no copy of its newest answer is known."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.leasing import events
from app.leasing import statements_deleting as statements
from app.leasing.holds import HoldKind, HoldRequest, hold
from app.model.errors import Refused
from app.model.ids import DatasetId
from app.store.batch import bind_rows
from app.store.store import Store
from app.store.transaction import Tx

PAGE = 1_000  # samples whose jobs one transaction removes
BACKUP, EXPORTED = "backup", "exported"  # the events that tell of copies
DELETING = "dataset_deleting"


@dataclass(frozen=True, slots=True)
class Copy:
    """A file that holds the answers of a dataset, as far as the store was told."""

    kind: str
    path: Path
    rows: int | None  # of an export


@dataclass(frozen=True, slots=True)
class Doomed:
    """A dataset that is to be deleted."""

    id: DatasetId
    name: str


async def copy_of(store: Store, doomed: Doomed) -> Copy | None:
    """A copy that holds the newest answer, None where there is no answer to lose. Raises Refused without a copy."""
    of_dataset = {"dataset": doomed.id}
    async with store.snapshot() as reads:
        newest = await reads.first(statements.newest_answer(), of_dataset)
        if newest is None or newest.at_ms is None:
            return None
        noted = {**of_dataset, "since_ms": newest.at_ms, "kinds": [BACKUP, EXPORTED]}
        rows = await reads.rows(statements.copies_since(), noted)
    found = [copy for row in rows if (copy := _copy(row, newest.seq or 0)) is not None]
    if not found:
        raise Refused(
            f"No backup or export is known that holds the newest answer of dataset {doomed.name} and still lies where "
            f"it was written. Make one: `thinkledger export --dataset {doomed.name}`. Nothing was deleted."
        )
    return found[-1]


def _copy(row: Any, newest_seq: int) -> Copy | None:
    """The copy that an event tells of, if it goes far enough and its file is there in its size."""
    told = json.loads(row.detail)
    path = Path(told["path"] if row.kind == BACKUP else told["file"])
    files = [(Path(name), size) for name, size in told.get("shards") or [(path, told["bytes"])]]
    if told["seq"] < newest_seq or told.get("limited") or not all(_is_there(*file) for file in files):
        return None
    return Copy(row.kind, path, told.get("rows"))


def _is_there(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


async def refuse_leased(store: Store, doomed: Doomed) -> None:
    """Refuse a dataset that somebody works at."""
    async with store.snapshot() as reads:
        leased = int(await reads.value(statements.leases_of(), {"dataset": doomed.id}))
    _refuse(doomed, leased)


def _refuse(doomed: Doomed, leased: int) -> None:
    if leased:
        raise Refused(
            f"{leased:,} jobs of dataset {doomed.name} are leased. `thinkledger datasets pause {doomed.name}`, wait "
            "for them or stop the workers, then delete it. Nothing was deleted."
        )


async def delete(store: Store, doomed: Doomed) -> int:
    """Remove the dataset and all that hangs on it; how many jobs it had.

    It is held first, so that nothing is claimed meanwhile. One that was cut off is finished by deleting it again.
    """
    await store.write(_close, doomed)
    jobs = 0
    while removed := await store.write(_remove_pages, doomed):
        jobs += removed
    await store.write(_end, (doomed, jobs))
    return jobs


async def _close(tx: Tx, several: Sequence[Doomed]) -> list[None]:
    for doomed in several:
        _refuse(doomed, int(await tx.value(statements.leases_of(), {"dataset": doomed.id})))
        await hold(tx, [HoldRequest(doomed.id, HoldKind.PERSON, "being deleted")])
        await events.note(tx, DELETING, dataset=doomed.id)  # from here on no imported file is there as a whole
    return [None] * len(several)


async def _remove_pages(tx: Tx, several: Sequence[Doomed]) -> list[int]:
    return [await _remove_page(tx, doomed) for doomed in several]


async def _remove_page(tx: Tx, doomed: Doomed) -> int:
    rows = await tx.rows(statements.last_jobs(), {"dataset": doomed.id, "samples_a_page": PAGE})
    if not rows:
        return 0
    await tx.seq()
    jobs = {"jobs": bind_rows((row.id,) for row in rows)}
    for statement in (
        statements.delete_token_ids(), statements.delete_readings(), statements.delete_unread(),
        statements.delete_turns(), statements.delete_failures(), statements.delete_bodies(),
        statements.delete_responses(),
        statements.delete_jobs(),
    ):  # fmt: skip
        await tx.run(statement, jobs)
    samples = sorted({row.sample_ref for row in rows})
    await tx.run(statements.delete_samples(), {"samples": bind_rows((sample,) for sample in samples)})
    return len(rows)


async def _end(tx: Tx, several: Sequence[tuple[Doomed, int]]) -> list[None]:
    for doomed, jobs in several:
        await tx.seq()
        for statement in (
            statements.delete_sources(), statements.delete_windows(), statements.delete_alarms(),
            statements.delete_holds(), statements.delete_counters(), statements.delete_buckets(),
            statements.delete_triage(), statements.delete_lengths(), statements.delete_latencies(),
            statements.delete_failure_groups(), statements.delete_dataset(),
        ):  # fmt: skip
            await tx.run(statement, {"dataset": doomed.id})
        await events.note(tx, "dataset_deleted", name=doomed.name, jobs=jobs)
    return [None] * len(several)
