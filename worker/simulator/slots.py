"""How many answers are generated at once, as on a GPU host; the others queue, first come first served."""

import asyncio
from collections import deque
from contextlib import suppress

from worker.simulator.timeline import Timeline


class Slots:
    """`limit` places for generations (None: no limit). Every change goes to the timeline."""

    def __init__(self, limit: int | None, timeline: Timeline) -> None:
        self.limit = limit
        self.busy = 0
        self.max_busy = 0
        self.max_queued = 0
        self._timeline = timeline
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def queued(self) -> int:
        """How many wait for a place."""
        return len(self._queue)

    def try_enter(self) -> bool:
        """Take a place if one is free and nobody waits."""
        if self._queue or not self._free:
            return False
        self.busy += 1
        self._changed()
        return True

    async def enter(self) -> None:
        """Take a place, waiting for one if need be. A cancelled wait takes none."""
        if self.try_enter():
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._changed()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):  # already passed over
                    self._queue.remove(turn)
                self._changed()
            else:  # the place came in the same moment as the cancellation: pass it on
                self.leave()
            raise

    def leave(self) -> None:
        """Give the place back."""
        self.busy -= 1
        self._admit()
        self._changed()

    def resize(self, limit: int | None) -> None:
        """Change the number of places. Fewer than are busy takes effect as they are given back."""
        self.limit = limit
        self._admit()
        self._changed()

    def forget_peaks(self) -> None:
        """Count the highest values from now on."""
        self.max_busy, self.max_queued = self.busy, self.queued

    @property
    def _free(self) -> bool:
        return self.limit is None or self.busy < self.limit

    def _admit(self) -> None:
        while self._free and self._queue:
            turn = self._queue.popleft()
            if not turn.cancelled():  # cancelled, but its owner has not run since
                turn.set_result(None)
                self.busy += 1

    def _changed(self) -> None:
        self.max_busy = max(self.max_busy, self.busy)
        self.max_queued = max(self.max_queued, self.queued)
        self._timeline.record(self.busy, self.queued)
