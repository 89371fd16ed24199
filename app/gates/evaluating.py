"""Alarms that time triggers, not an answer: somebody must look. Whoever holds the evaluator's lease does."""

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from app.gates import statements_timed as statements
from app.gates.alarms import Alarm, raise_alarms
from app.gates.health import endpoints_in
from app.gates.soundness import note_damage, unsound
from app.gates.stalling import stalled
from app.model import timed
from app.model.errors import ResourceExhausted, Unavailable
from app.model.gates import AlarmKind
from app.model.ids import DatasetId, WorkerId
from app.model.limits import BACKUP_OLD_MS
from app.model.loss_flags import LossFlag
from app.model.sums import Sums
from app.store.store import Store
from app.store.transaction import Tx

LOOK_EVERY_S = 15.0
LEASE_MS = 45_000  # three looks


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the store and its surroundings. `holder` names the process, `disk` is (free, all) bytes."""

    holder: str
    disk: tuple[int, int]
    backup_ms: int | None = BACKUP_OLD_MS  # how long answers may be in no backup; None: for ever
    workers: Path | None = None  # the folder of their locks


async def keep_evaluating(
    store: Store, holder: str, on_trouble: Callable[[str], None], backup_ms: int | None = BACKUP_OLD_MS
) -> None:
    """Look every 15 seconds until cancelled, as long as nobody else does. A store that is busy is looked at later."""
    while True:
        await look_once(store, holder, on_trouble, backup_ms)
        await anyio.sleep(LOOK_EVERY_S)


async def look_once(
    store: Store,
    holder: str,
    on_trouble: Callable[[str], None],
    backup_ms: int | None = BACKUP_OLD_MS,
    hold_s: float = math.inf,
) -> None:
    """One look, unless another holds the lease: it ends alarms whose reason is gone, and raises those that stand.

    A patient store that takes nothing is waited for `hold_s` at most.
    """
    kept_ms = None if store.place.server is not None else backup_ms  # a server is backed up by its own means
    try:
        await note_damage(store, hold_s)
        await store.write(evaluate, Look(holder, disk_of(store), kept_ms, store.place.workers), hold_s=hold_s)
    except (Unavailable, ResourceExhausted) as error:
        on_trouble(str(error))


def disk_of(store: Store) -> tuple[int, int]:
    """Free bytes of the store's disk, and all."""
    usage = shutil.disk_usage(store.place.path.parent)
    return usage.free, usage.total


async def evaluate(tx: Tx, looks: Sequence[Look]) -> list[bool]:
    """Whether each look was the evaluator's; only that one raises and ends alarms."""
    return [await _evaluate(tx, look) for look in looks]


async def _evaluate(tx: Tx, look: Look) -> bool:
    lease = {"holder": look.holder, "now_ms": tx.now_ms, "until_ms": tx.now_ms + LEASE_MS, "far_ms": 2 * LEASE_MS}
    if not await tx.rows(statements.take_evaluator(), lease):
        return False
    for kind, alarms in (
        (AlarmKind.STALLED, await _stalled(tx)),
        (AlarmKind.WORKER_DEAD, await _dead(tx)),
        (AlarmKind.DISK_LOW, _disk(look)),
        (AlarmKind.ENDPOINT_DOWN, await _down(tx, look.workers)),
        (AlarmKind.BACKUP_OLD, await _backup(tx, look.backup_ms)),
        (AlarmKind.INTEGRITY, [*await _mismatches(tx), *await unsound(tx)]),
        (AlarmKind.TEXT_SHORT, await _lost(tx, AlarmKind.TEXT_SHORT, LossFlag.TEXT_SHORT)),
        (AlarmKind.CUT_UPSTREAM, await _lost(tx, AlarmKind.CUT_UPSTREAM, LossFlag.CUT_UPSTREAM)),
    ):
        await _stand(tx, kind, alarms)
    return True


async def _stand(tx: Tx, kind: AlarmKind, alarms: Sequence[Alarm]) -> None:
    """These alarms of a kind stand, and no others. Nothing is written, and no number taken, where nothing changed."""
    standing = {row.subject: row for row in await tx.rows(statements.standing(), {"of_kind": kind})}
    changed = [alarm for alarm in alarms if _says_more(alarm, standing.get(alarm.subject))]
    over = sorted(standing.keys() - {alarm.subject for alarm in alarms})
    if changed or over:
        await tx.seq()
        await raise_alarms(tx, changed)
        await tx.run(statements.end_subjects(), {"of_kind": kind, "subjects": over, "now_ms": tx.now_ms})


def _says_more(alarm: Alarm, row: Any) -> bool:
    return row is None or (row.message, row.part, row.whole) != (alarm.message, alarm.part, alarm.whole)


async def _stalled(tx: Tx) -> list[Alarm]:
    names = {row.id: row.name for row in await tx.rows(statements.dataset_names())}
    return [
        Alarm(AlarmKind.STALLED, timed.stalled(names[dataset], silence), dataset=DatasetId(dataset))
        for dataset, silence in (await stalled(tx, tx.now_ms)).items()
    ]


async def _dead(tx: Tx) -> list[Alarm]:
    rows = await tx.rows(statements.dead_workers(), {"since_ms": tx.now_ms - timed.DEAD_SHOWN_MS})
    return [
        Alarm(AlarmKind.WORKER_DEAD, timed.worker_dead(row.name, row.host, row.id), worker=WorkerId(row.id))
        for row in rows
    ]


def _disk(look: Look) -> list[Alarm]:
    free, total = look.disk
    message = timed.disk_low(free, total)
    return [] if message is None else [Alarm(AlarmKind.DISK_LOW, message)]


async def _down(tx: Tx, workers: Path | None) -> list[Alarm]:
    found = await endpoints_in(tx, tx.now_ms, workers)
    return [
        Alarm(
            AlarmKind.ENDPOINT_DOWN,
            timed.endpoint_down(one.base_url, one.down, one.asking, str(one.reason)),
            endpoint=one.id, part=one.down, whole=one.asking, url=one.base_url,
        )
        for one in found.down if tx.now_ms - one.since_ms > timed.DOWN_SAID_MS
    ]  # fmt: skip


async def _backup(tx: Tx, allowed_ms: int | None) -> list[Alarm]:
    """Answers of the minutes after that of the newest backup: in none of them, whatever its seconds."""
    if allowed_ms is None:
        return []
    made_ms = await tx.value(statements.backup())
    since = 0 if made_ms is None else made_ms // timed.MINUTE_MS + 1
    found = await tx.first(statements.finished_since(), {"since": since})
    if found is None or found.minute is None:
        return []
    oldest_ms = tx.now_ms - found.minute * timed.MINUTE_MS
    message = timed.backup_old(made=made_ms is not None, answers=found.done, oldest_ms=oldest_ms, allowed_ms=allowed_ms)
    return [] if message is None else [Alarm(AlarmKind.BACKUP_OLD, message)]


async def _mismatches(tx: Tx) -> list[Alarm]:
    found = []
    for row in await tx.rows(statements.sums()):
        sums = Sums(row.total, row.states, row.done, row.verdicts)
        if sums.mismatch is not None:
            message = f"{row.name}: {sums.mismatch}"
            alarm = Alarm(AlarmKind.INTEGRITY, message, DatasetId(row.id), part=sums.states, whole=sums.total)
            found.append(alarm)
    return found


async def _lost(tx: Tx, kind: AlarmKind, flag: LossFlag) -> list[Alarm]:
    """Counted over all answers that stand, imported ones too; it ends when they were asked again or read anew."""
    rows = await tx.rows(statements.flagged(), {"metric": f"flag:{flag}"})
    said = [(row, timed.text_lost(flag, row.name, row.part, row.whole)) for row in rows]
    return [
        Alarm(kind, message, dataset=DatasetId(row.id), part=row.part, whole=row.whole)
        for row, message in said
        if message is not None
    ]
