"""Finds workers that died and takes over what they left.

Dead is who no longer holds its lock file (the kernel frees it at kill -9), or whose beat stood still for a whole TTL of
our own monotonic clock during which we ourselves committed. Wall clocks are never compared.
"""

import time
from dataclasses import dataclass, field

import anyio

from app.leasing import locks
from app.leasing.rescue import RescueRequest, rescue, rescue_overdue
from app.leasing.workers import OpenWorker, open_workers, renew
from app.model.ids import WorkerId
from app.responses.unread import orphaned
from worker.replaying import Replayer, read_stored
from worker.slot import Tools
from worker.spooling import RETRY_S, TROUBLE

LOOK_EVERY_S = 0.5
OVERDUE_EVERY_S = 30.0


@dataclass(slots=True)
class Watched:
    """A beat, and since when we have seen it stand still."""

    beat: int
    since_s: float


@dataclass(slots=True)
class Rescuer:
    """Looks after the other workers of a store."""

    tools: Tools
    worker: WorkerId
    flock_works: bool
    replayer: Replayer
    _seen: dict[WorkerId, Watched] = field(default_factory=dict)
    _overdue_at_s: float = 0.0

    async def run(self) -> None:
        """Look twice a second until cancelled."""
        while True:
            try:
                await self.look()
            except TROUBLE:
                await anyio.sleep(RETRY_S)  # the writer has told it
            await anyio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Rescue whoever is dead now."""
        others = [other for other in await open_workers(self.tools.store) if other.id != self.worker]
        self._seen = {other.id: self._watch(other) for other in others}
        for other in others:
            await self._look_at(other)
        await read_stored(await orphaned(self.tools.store), self.worker, self.tools)
        if time.monotonic() >= self._overdue_at_s:
            self._overdue_at_s = time.monotonic() + OVERDUE_EVERY_S
            if taken := await self.tools.store.write(rescue_overdue, None):
                self.tools.log.warning("leases_overdue", jobs=taken)
                self.tools.pool.wake()

    def _watch(self, other: OpenWorker) -> Watched:
        seen = self._seen.get(other.id)
        if seen is not None and seen.beat == other.beat:
            return seen
        return Watched(other.beat, time.monotonic())

    async def _look_at(self, other: OpenWorker) -> None:
        lock = locks.take_from_dead(self.tools.store.place.workers, other.uuid) if self.flock_works else None
        if lock is not None:
            try:
                await self._rescue(other)
            finally:
                lock.free()
        elif await self._stands_still(other):
            await self._rescue(other)

    async def _stands_still(self, other: OpenWorker) -> bool:
        """Whether the beat stood still for a TTL; our own commit just now proves that the store could be written."""
        if (time.monotonic() - self._seen[other.id].since_s) * 1000 < other.ttl_ms:
            return False
        asked_s = time.monotonic()
        await self.tools.store.write(renew, self.worker, first=True)
        if time.monotonic() - asked_s > max(LOOK_EVERY_S, other.ttl_ms / 4000):  # the store was locked, for it too
            self._seen[other.id].since_s = time.monotonic()
            return False
        return all(now.beat == other.beat for now in await open_workers(self.tools.store) if now.id == other.id)

    async def _rescue(self, other: OpenWorker) -> None:
        await self.replayer.of_dead(other.uuid)  # first, or what it was paid for would be asked again
        done = await self.tools.store.write(rescue, RescueRequest(other.id, self.worker))
        self.tools.log.warning(
            "worker_rescued", worker=other.id, jobs=done.jobs, failed=done.failed, unread=len(done.unread)
        )
        await read_stored(done.unread, self.worker, self.tools)
        self.tools.pool.wake()
