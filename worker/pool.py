"""The endpoints of a worker: which are well, how busy they are, and who is asked next."""

import time
from collections import deque
from dataclasses import dataclass, field

import anyio

from app.model.ids import EndpointId
from app.model.lease import Cause
from worker.asking import Dialect
from worker.backoff import ANSWERED_LATELY_S
from worker.endpoint import AskFailed, Endpoint
from worker.fingerprint import Model
from worker.outages import TOGETHER_S, Outages
from worker.pressure import Pressure

CUT_WAIT_S = 0.5  # for the others to be noticed
SMALL_QUESTION = 0  # the place of a job's number where the answer was that to a question of our own


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
    trouble: str = "it was not reached yet"  # why it is not well
    was_up: bool = False  # it has been well in this run, so its trouble no longer ends the run
    preflight_passed: bool = False
    busy: int = 0
    alone: bool = False  # a job that may kill it is being asked, and nothing beside it
    answers: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=64))  # (monotonic seconds, job)
    outages: Outages = field(default_factory=Outages)
    _cuts: deque[float] = field(default_factory=lambda: deque(maxlen=64))

    def is_well(self) -> bool:
        """Whether it may be asked; other tasks change it at any time."""
        return self.well

    def room(self, now_s: float) -> int:
        """How many more requests it may be sent now."""
        return self.pressure.room(self.busy, now_s) if self.well and not self.alone else 0

    def answered(self, job: int) -> None:
        """A good answer came for `job`."""
        now_s = time.monotonic()
        self.answers.append((now_s, job))
        self.outages.answered(job)
        if job != SMALL_QUESTION:
            self.pressure.answered(now_s, self.busy)

    def answered_others_lately(self, job: int) -> bool:
        """Whether it answered something else in the last five minutes: then a failure may be the job's own.

        While it is taken for ill itself, no failure is.
        """
        since = time.monotonic() - ANSWERED_LATELY_S
        return not self.pressure.ill and any(at >= since and answered != job for at, answered in self.answers)

    async def died(self, job: int) -> bool:
        """Whether a connection that broke just now broke with the server: others did too, or nobody is there."""
        now_s = time.monotonic()
        died = await self._is_gone(now_s)
        if died:
            self.outages.broke(now_s, job)
        return died

    async def _is_gone(self, now_s: float) -> bool:
        self._cuts.append(now_s)
        await anyio.sleep(CUT_WAIT_S)
        if sum(abs(at - now_s) <= TOGETHER_S for at in self._cuts) > 1:
            return True
        try:
            status, _ = await self.endpoint.get("/health")
        except AskFailed as error:
            return error.cause is not Cause.OUT_OF_FILES  # then nobody could look
        return status >= 500


class Pool:
    """The servers, and a signal for whoever waits for room."""

    def __init__(self, servers: list[Server], slots: int) -> None:
        self.servers = servers
        self.slots = slots
        self._changed = anyio.Event()

    @property
    def busy(self) -> int:
        return sum(server.busy for server in self.servers)

    def free(self) -> int:
        """How many of the worker's own slots are free."""
        return max(0, self.slots - self.busy)

    def shares(self) -> list[tuple[Server, int]]:
        """The servers that may be sent something now, the least used first, each with its room."""
        now_s = time.monotonic()
        open_ones = [(server, room) for server in self.servers if (room := server.room(now_s))]
        return sorted(open_ones, key=lambda one: one[0].busy / one[0].pressure.limit)

    def take(self, server: Server, *, alone: bool = False) -> None:
        """A place at that server; give it back with `give_back`."""
        server.busy += 1
        server.alone = server.alone or alone

    def give_back(self, server: Server) -> None:
        """The place is free again."""
        server.busy -= 1
        server.alone = server.alone and server.busy > 0
        self.wake()

    def hold(self, server: Server, why: str, *, wants_answer: bool) -> bool:
        """Ask it nothing until it is well again; whether that is new."""
        was_well, server.well = server.well, False
        server.trouble = why
        server.pressure.fell_ill(time.monotonic(), wants_answer=wants_answer)
        self.wake()
        return was_well

    def wake(self) -> None:
        """Something changed: look for room again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def change(self, at_most_s: float) -> None:
        """Wait for the next change, or for `at_most_s`."""
        event = self._changed
        with anyio.move_on_after(at_most_s):
            await event.wait()
