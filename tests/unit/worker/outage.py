"""A worker and a server in simulated time: the product's rules, a clock that is a number, and an outage."""

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from app.model.lease import Cause, Settle
from worker.backoff import ANSWERED_LATELY_S, RULES, decide
from worker.pressure import Pressure

HEALTH_LIMIT_S, SILENT_S, RETRY_S, REQUEST_LIMIT_S = 30.0, 60.0, 15.0, 7200.0
NEVER = 1e12


@dataclass(frozen=True)
class Outage:
    """How a server behaves while it is ill."""

    cause: Cause
    after_s: float = 0.005  # until the failure comes
    retry_after_s: float | None = None
    health_fails: bool = False  # /health too
    hangs: bool = False  # what is open when it begins gets no answer either


@dataclass
class Job:
    """A job as the rules see it."""

    number: int
    tries: int = 0


@dataclass
class World:
    """One endpoint of `slots` slots that takes `latency_s` for an answer, and is ill from `begin_s` to `end_s`."""

    outage: Outage
    slots: int = 256
    latency_s: float = 30.0
    begin_s: float = 600.0
    end_s: float = 4200.0
    max_attempts: int = 5
    capacity: int = 2**30  # more than this at once it refuses with 503
    refusals: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)  # when each request reached the server
    failed: list[int] = field(default_factory=list)
    done: int = 0

    def __post_init__(self) -> None:
        self.now_s = 0.0
        self.pressure = Pressure.open(self.slots)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._numbers = itertools.count()
        self._open: dict[int, Job] = {}
        self._ready: deque[Job] = deque()
        self._answer_s = -NEVER
        self._byte_s = 0.0
        self._looking = False
        self.at(0.0, self._look_around)

    def run(self, until_s: float) -> None:
        """Let the time pass."""
        while self._events and self._events[0][0] <= until_s:
            self.now_s, _, event = heapq.heappop(self._events)
            event()
            self._feed()

    def at(self, moment_s: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment_s, next(self._order), event))

    def rate(self, from_s: float, to_s: float) -> float:
        """Requests a second that reached the server."""
        return sum(from_s <= moment < to_s for moment in self.asked) / (to_s - from_s)

    def busy(self) -> int:
        return len(self._open)

    @property
    def _ill(self) -> bool:
        return self.begin_s <= self.now_s < self.end_s

    def _look_around(self) -> None:
        """The worker looks at its room at least twice a second."""
        silent = self._open and self.now_s - self._byte_s > SILENT_S
        if silent and self._ill and self.outage.health_fails and not self.pressure.ill:
            for job in self._open.values():  # cut, and given back
                self._ready.appendleft(job)
            self._open.clear()
            self.pressure.fell_ill(self.now_s)
        if self.pressure.ill and not self._looking:
            self._looking = True
            self.at(max(self.now_s, self.pressure.look_at_s), self._look)
        self.at(self.now_s + 0.5, self._look_around)

    def _look(self) -> None:
        pressure = self.pressure
        if self._ill and self.outage.health_fails:
            self.at(self.now_s + RETRY_S, self._look)
            return
        self._looking = False
        if pressure.ill and pressure.wants_answer:
            self.asked.append(self.now_s)
            if self._ill:
                pressure.looked_ill(self.now_s + self.outage.after_s)
                return
            self._answer_s = self.now_s
        if pressure.ill:
            pressure.looked_well()

    def _feed(self) -> None:
        for _ in range(min(self.pressure.room(len(self._open), self.now_s), self.slots - len(self._open))):
            job = self._ready.popleft() if self._ready else Job(next(self._numbers))
            self._ask(job)

    def _ask(self, job: Job) -> None:
        asked_s, self._open[job.number] = self.now_s, job
        if self.outage.cause is not Cause.UNREACHABLE or not self._ill:
            self.asked.append(self.now_s)
        if len(self._open) > self.capacity:
            self.at(self.now_s + 0.005, lambda: self._is_refused(job))
        elif self._ill:
            after_s = NEVER if self.outage.hangs else self.outage.after_s
            self.at(self.now_s + min(after_s, REQUEST_LIMIT_S), lambda: self._fails(job, asked_s))
        else:
            self.at(self.now_s + self.latency_s * (0.75 + job.number % 7 / 12), lambda: self._answers(job, asked_s))

    def _answers(self, job: Job, asked_s: float) -> None:
        if self._ill and self.outage.hangs:
            self.at(asked_s + REQUEST_LIMIT_S, lambda: self._fails(job, asked_s))
        elif self._ill:
            self._fails(job, asked_s)
        elif self._open.pop(job.number, None) is job:
            self._byte_s = self._answer_s = self.now_s
            self.pressure.answered(self.now_s, len(self._open))
            self.done += 1

    def _is_refused(self, job: Job) -> None:
        del self._open[job.number]
        self.refusals.append(self.now_s)
        self.pressure.refused(self.now_s, len(self._open), None, 0.005)
        self.at(self.now_s + 2.0, lambda: self._ready.append(job))

    def _fails(self, job: Job, asked_s: float) -> None:
        if self._open.pop(job.number, None) is not job:
            return
        outage, rule = self.outage, RULES[self.outage.cause]
        self._byte_s = self.now_s
        well = not self.pressure.ill and self.now_s - self._answer_s < ANSWERED_LATELY_S
        decision = decide(
            outage.cause, tries=job.tries, server_well=well, retry_after_s=outage.retry_after_s, random=lambda: 0.5
        )
        if rule.holds_endpoint:
            self.pressure.fell_ill(self.now_s)
        elif rule.slows_endpoint:
            self.pressure.refused(self.now_s, len(self._open), outage.retry_after_s, self.now_s - asked_s)
        elif rule.may_be_the_server_s:
            self.pressure.failed(self.now_s, failed_before=job.tries > 0, took_s=self.now_s - asked_s)
        job.tries += decision.counted
        if decision.settle is Settle.GIVE_UP or job.tries >= self.max_attempts:
            self.failed.append(job.number)
        else:
            self.at(self.now_s + decision.wait_ms / 1000, lambda: self._ready.appendleft(job))
