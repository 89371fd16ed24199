"""The endpoints of a worker: which are well, how busy they are, and who is asked next."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from app.model.ids import EndpointId
from worker.asking import Dialect
from worker.backoff import ANSWERED_LATELY_S
from worker.endpoint import Endpoint
from worker.fingerprint import Model
from worker.pressure import Pressure


@dataclass(eq=False, slots=True)
class Server:
    """One endpoint as the worker sees it now. `number` is the store's row of its identity."""

    endpoint: Endpoint
    pressure: Pressure
    number: EndpointId | None = None
    models: dict[str, Model] = field(default_factory=dict)
    dialect: Dialect = field(default_factory=lambda: Dialect("other", raw_text=False, token_ids=False))
    default_model: str = ""
    well: bool = False
    busy: int = 0
    answers: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=64))  # (monotonic seconds, job)

    def is_well(self) -> bool:
        """Whether it may be asked; other tasks change it at any time."""
        return self.well

    def answered(self, job: int) -> None:
        """A good answer came for `job`."""
        self.answers.append((time.monotonic(), job))
        self.pressure.answered()

    def answered_others_lately(self, job: int) -> bool:
        """Whether it answered another job in the last five minutes: then a failure may be the job's own."""
        since = time.monotonic() - ANSWERED_LATELY_S
        return any(at >= since and answered != job for at, answered in self.answers)


class Pool:
    """The servers, and a signal for whoever waits for room."""

    def __init__(self, servers: list[Server], slots: int) -> None:
        self.servers = servers
        self.slots = slots
        self._changed = anyio.Event()

    @property
    def busy(self) -> int:
        return sum(server.busy for server in self.servers)

    def room(self) -> int:
        """How many more requests may be opened now."""
        now = time.monotonic()
        there = sum(server.pressure.room(server.busy, now) for server in self.servers if server.well)
        return max(0, min(self.slots - self.busy, there))

    def take(self, wanted: Callable[[Server], bool] = lambda _server: True) -> Server | None:
        """A place at the least busy server that is well; give it back with `give_back`."""
        now = time.monotonic()
        open_servers = [s for s in self.servers if s.well and s.pressure.room(s.busy, now) and wanted(s)]
        if not open_servers:
            return None
        chosen = min(open_servers, key=lambda server: server.busy)
        chosen.busy += 1
        return chosen

    def give_back(self, server: Server) -> None:
        """The place is free again."""
        server.busy -= 1
        self.wake()

    def wake(self) -> None:
        """Something changed: look for room again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def change(self, at_most_s: float) -> None:
        """Wait for the next change, or for `at_most_s`."""
        event = self._changed
        with anyio.move_on_after(at_most_s):
            await event.wait()
