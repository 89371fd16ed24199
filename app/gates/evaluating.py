"""Alarms that time triggers, not an answer: somebody must look. Whoever holds the evaluator's lease does."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from app.gates import statements
from app.gates.alarms import Alarm, raise_alarms
from app.gates.stalling import stalled
from app.model import timed
from app.model.errors import ResourceExhausted, Unavailable
from app.model.gates import AlarmKind
from app.model.ids import DatasetId, WorkerId
from app.model.loss_flags import LossFlag
from app.store.store import Store
from app.store.transaction import Tx

LOOK_EVERY_S = 15.0
LEASE_MS = 45_000  # three looks


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the store and its surroundings. `holder` names the process, `disk` is (free, all) bytes."""

    holder: str
    disk: tuple[int, int]


async def keep_evaluating(store: Store, holder: str, on_trouble: Callable[[str], None]) -> None:
    """Look every 15 seconds until cancelled, as long as nobody else does. A store that is busy is looked at later."""
    while True:
        try:
            await store.write(evaluate, Look(holder, disk_of(store)))
        except (Unavailable, ResourceExhausted) as error:
            on_trouble(str(error))
        await anyio.sleep(LOOK_EVERY_S)


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


async def _lost(tx: Tx, kind: AlarmKind, flag: LossFlag) -> list[Alarm]:
    """Counted over all answers that stand, imported ones too; it ends when they were asked again or read anew."""
    rows = await tx.rows(statements.flagged(), {"metric": f"flag:{flag}"})
    said = [(row, timed.text_lost(flag, row.name, row.part, row.whole)) for row in rows]
    return [
        Alarm(kind, message, dataset=DatasetId(row.id), part=row.part, whole=row.whole)
        for row, message in said
        if message is not None
    ]
