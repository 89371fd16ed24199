"""Watches what lies under the store: that it is still the same file, and that its disk has room for more answers."""

from dataclasses import dataclass

import anyio

from app.model.limits import least_free_disk
from app.progress import wording
from app.progress.disk import disk_usage, need
from app.progress.overview import Usage
from app.progress.wording import size
from app.store.store import Store
from worker.log import Log
from worker.pool import Pool
from worker.spooling import TROUBLE

LOOK_EVERY_S = 1.0
ENOUGH = 1.1  # times the floor: from there on it goes on, so that it does not stop and go at every answer


@dataclass(slots=True)
class Disk:
    """Whether more may be asked for. `floor` is --min-free-disk in bytes."""

    store: Store
    pool: Pool
    log: Log
    floor: int
    full: bool = False

    @classmethod
    def of(cls, store: Store, pool: Pool, log: Log, floor: int | None) -> "Disk":
        """Without a floor of a person's own, that of the disk's size."""
        return cls(store, pool, log, least_free_disk(_usage(store).total) if floor is None else floor)

    async def run(self) -> None:
        """Look once a second until cancelled. Raises where the store was replaced or cut."""
        while True:
            await self.look()
            await anyio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Stop claiming below the floor, and go on by itself when there is space again."""
        self.store.check_files()
        free = _usage(self.store).free
        if not self.full and free < self.floor:
            self.full = True
            self.log.warning(
                "disk_low",
                free=size(free),
                floor=size(self.floor),
                needs=await self._needs(),
                advice="no new prompts are asked until there is space; what is in flight is stored",
            )
        elif self.full and free >= self.floor * ENOUGH:
            self.full = False
            self.log.info("disk_has_room", free=size(free))
            self.pool.wake()

    async def _needs(self) -> str:
        try:
            return wording.need(await need(self.store))
        except TROUBLE:
            return "not known while the store cannot be read"


def _usage(store: Store) -> Usage:
    return disk_usage(store.place.path.parent)
