"""What was found of the store's soundness: by `verify`, and by whoever met a damaged page."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.gates import statements_timed as statements
from app.gates.alarms import Alarm
from app.leasing import events
from app.model import timed
from app.model.gates import AlarmKind
from app.store.store import Store
from app.store.transaction import Reads, Tx

REMEMBERED = 100  # verifications and sights of damage that are looked back at


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification came to. `full`: every body, every index."""

    findings: int
    full: bool
    seq: int  # of the transaction up to which it looked


async def note_verified(tx: Tx, several: Sequence[Verified]) -> list[None]:
    """Keep it as an event, for the alarm and for whoever asks when the store was last looked at."""
    await tx.seq()
    for one in several:
        await events.note(tx, "verified", findings=one.findings, full=int(one.full), seq=one.seq)
    return [None] * len(several)


async def note_damage(store: Store, hold_s: float = math.inf) -> None:
    """Keep what this process saw of damaged pages and has not told yet."""
    while (words := store.damage.untold()) is not None:
        await store.write(_note_damage, words, hold_s=hold_s)
        store.damage.told()


async def _note_damage(tx: Tx, several: Sequence[str]) -> list[None]:
    await tx.seq()
    for words in several:
        await events.note(tx, "damage_seen", words=words)
    return [None] * len(several)


async def unsound(reads: Reads) -> list[Alarm]:
    """One alarm while the latest news of the store is bad, none where it is good or nobody has looked."""
    rows = await reads.rows(statements.soundness(), {"limit": REMEMBERED})
    message = _standing((row.kind, json.loads(row.detail)) for row in rows)
    return [] if message is None else [Alarm(AlarmKind.INTEGRITY, message)]


def _standing(newest_first: Iterable[tuple[str, dict[str, Any]]]) -> str | None:
    """Bad news stands until a verification that looked at as much finds nothing. A damaged page takes a full one."""
    sound = sound_in_full = False
    for kind, detail in newest_first:
        if sound_in_full:
            return None
        if kind == "damage_seen":
            return timed.damaged(detail["words"])
        if detail["findings"] == 0:
            sound, sound_in_full = True, bool(detail["full"])
        elif detail["full"] or not sound:
            return timed.unsound(detail["findings"], full=bool(detail["full"]))
    return None
