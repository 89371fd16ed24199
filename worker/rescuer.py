"""Finds workers that died and takes over what they left.

Dead is who no longer holds its lock file (the kernel frees it at kill -9), or whose beat stood still for a whole TTL of
our own monotonic clock during which we ourselves committed. Wall clocks are never compared.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from app.leasing import locks
from app.leasing.rescue import RescueRequest, rescue, rescue_overdue
from app.leasing.workers import OpenWorker, open_workers, renew
from app.model.errors import UsageError
from app.model.ids import ResponseId, WorkerId
from app.responses.unread import load_bodies, orphaned
from worker.slot import Tools, settle_stored

LOOK_EVERY_S = 0.5
OVERDUE_EVERY_S = 30.0
READ_AT_ONCE = 32


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
    _seen: dict[WorkerId, Watched] = field(default_factory=dict)
    _overdue_at_s: float = 0.0
    _unreadable: set[ResponseId] = field(default_factory=set)  # told once, and left alone

    async def run(self) -> None:
        """Look twice a second until cancelled."""
        while True:
            await self.look()
            await anyio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Rescue whoever is dead now."""
        others = [other for other in await open_workers(self.tools.store) if other.id != self.worker]
        self._seen = {other.id: self._watch(other) for other in others}
        for other in others:
            await self._look_at(other)
        await self.read_stored(await orphaned(self.tools.store))
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
        done = await self.tools.store.write(rescue, RescueRequest(other.id, self.worker))
        self.tools.log.warning(
            "worker_rescued", worker=other.id, jobs=done.jobs, failed=done.failed, unread=len(done.unread)
        )
        await self.read_stored(done.unread)
        self.tools.pool.wake()

    async def read_stored(self, responses: Sequence[ResponseId]) -> None:
        """Read and settle stored bodies, a few in memory at a time."""
        new = [response for response in responses if response not in self._unreadable]
        for start in range(0, len(new), READ_AT_ONCE):
            await self._read_some(new[start : start + READ_AT_ONCE])

    async def _read_some(self, responses: Sequence[ResponseId]) -> None:
        try:
            bodies = await load_bodies(self.tools.store, responses, self.worker)
        except UsageError as error:  # one of them was asked in a way of which this version knows nothing
            await self._read_one_by_one(responses, str(error))
            return
        for stored in bodies:
            await settle_stored(stored, self.tools)

    async def _read_one_by_one(self, responses: Sequence[ResponseId], reason: str) -> None:
        """What cannot be read is told of once and stays as it is, for a version that can read it."""
        if len(responses) == 1:
            self._unreadable.add(responses[0])
            self.tools.log.warning("body_unreadable", response=responses[0], reason=reason)
            return
        for response in responses:
            await self._read_some([response])
