"""Restore: a verified backup takes the place of a store, which is kept beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.keeping import statements
from app.keeping.backup import Shown, check_copy, quote
from app.leasing import events, locks
from app.model.errors import IntegrityFailure, NotFound, UsageError
from app.store import place as places
from app.store.copying import copy_store, part_file, require_room, sync_folder
from app.store.place import Place
from app.store.store import open_store, wall_ms
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Restored:
    """What lies at the path of the store now."""

    path: Path
    replaced: Path | None  # where the store that was there is kept
    epoch: int
    seq: int
    jobs: int
    released: int  # jobs that were leased when the backup was made


@dataclass(frozen=True, slots=True)
class _NewEpoch:
    source: str


async def restore(backup: str, db: str, shown: Shown, *, full: bool) -> Restored:
    """Put a copy of `backup` in the place of the store `db`. Until the last step nothing there is touched."""
    source, place = places.locate(backup), places.locate(db)
    _refuse(source, place)
    with locks.alone(place.workers):
        require_room(source, place.path)
        with part_file(place.path.with_name(place.path.name + ".restoring")) as part:
            await copy_store(source, part, shown.copying)
            report, findings = await check_copy(part.path, shown.verifying, full=full)
            if not report.sound:
                raise IntegrityFailure(
                    f"{source.path} is not sound, and nothing was replaced: {quote(report, findings)}"
                )
            epoch, released = await _begin_epoch(part.path, source)
            if Place(part.path).wal.exists():
                raise IntegrityFailure(f"{Place(part.path).wal} is still in use by somebody. Nothing was replaced.")
            replaced = _set_aside(place)
            part.finish(place.path)
    return Restored(place.path, replaced, epoch, report.seq, report.jobs, released)


def _refuse(source: Place, place: Place) -> None:
    if source.path == place.path:
        raise UsageError(f"{source.path} is the store itself. Name a backup; --db names the store.")
    places.check(source, create=False)
    if not place.path.parent.is_dir():
        raise NotFound(f"{place.path.parent} is no folder, so no store can lie there. Create it first.")


async def _begin_epoch(path: Path, source: Place) -> tuple[int, int]:
    async with open_store(str(path)) as copy:
        return await copy.write(_start_anew, _NewEpoch(str(source.path)))


async def _start_anew(tx: Tx, asked: Sequence[_NewEpoch]) -> list[tuple[int, int]]:
    return [await _start_one(tx, one) for one in asked]


async def _start_one(tx: Tx, asked: _NewEpoch) -> tuple[int, int]:
    meta = await tx.first(statements.meta())
    assert meta is not None
    await tx.seq()
    # By the clock, so that two restores of one backup differ, whatever store each of them replaces.
    epoch = max(int(meta.epoch) + 1, tx.now_ms)
    await tx.run(statements.begin_epoch(), {"to_epoch": epoch})
    # What is restored lies in the backup that it came from, which was verified just now.
    await tx.run(statements.note_backup(), {"at_ms": tx.now_ms, "as_of_seq": int(meta.seq)})
    released = await tx.run(statements.release_every_lease())
    await tx.run(statements.end_every_worker(), {"at_ms": tx.now_ms})
    await events.note(tx, "restored", source=asked.source, epoch=epoch, as_of_seq=int(meta.seq), released=released)
    return epoch, released


def _set_aside(place: Place) -> Path | None:
    """Rename the store and what lies beside it; its file goes first, so that it is never found without its WAL."""
    moment = datetime.fromtimestamp(wall_ms() / 1000, UTC)
    aside = Place(place.path.with_name(f"{place.path.name}.replaced-{moment:%Y%m%dT%H%M%S.%f}"))
    moved = False
    for old, new in ((place.path, aside.path), (place.wal, aside.wal), (place.shared_memory, aside.shared_memory)):
        if old.exists():
            old.rename(new)
            moved = True
    sync_folder(place.path.parent)
    return aside.path if moved else None
