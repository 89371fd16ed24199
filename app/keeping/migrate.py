"""Migrate: an older store gets this version's schema, after a backup and while nobody works at it."""

from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from app.keeping.backup import target_of
from app.leasing import locks
from app.model.errors import Refused
from app.store import place as places
from app.store.copying import Progress, copy_store, part_file, require_room
from app.store.place import Place
from app.store.store import wall_ms
from app.store.upgrading import Versions, upgrade, versions


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was done; `backup` is None where there was nothing to do, or where it was only looked at."""

    found: str
    wanted: str
    backup: Path | None


async def migrate(db: str, progress: Progress, *, dry_run: bool) -> Migrated:
    """Upgrade the store. Until its backup is finished nothing is touched, and after an error it is as it was."""
    place = places.locate(db)
    seen = await versions(place)
    if seen.same or dry_run:
        return Migrated(seen.found, seen.wanted, None)
    with locks.alone(place.workers):
        kept = await _back_up(place, progress)
        await upgrade(place, wall_ms())
    return Migrated(seen.found, seen.wanted, kept)


async def _back_up(place: Place, progress: Progress) -> Path:
    target = target_of(place, None, wall_ms())
    if target.exists():
        raise Refused(f"{target} exists. Move it away first.")
    require_room(place, target, rewriting=True)
    with part_file(target) as part:
        await copy_store(place, part, progress)
        copied: Versions = await versions(Place(part.path))  # it opens, is sound to SQLite, and has that schema
        if copied != await versions(place):
            raise Refused("The schema of the store changed while it was copied. Look at it, then try again.")
        await to_thread.run_sync(part.finish)
    return target
