"""Workers, what they hold, and the servers they ask: computed when it is read."""

from dataclasses import dataclass

from app.progress.overview import Liveness
from app.progress.rates import Rate

CLOSED_SHOWN = 20  # workers that stopped or died, the latest first
LEASES_SHOWN = 20
ENDPOINTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """One start of a worker process."""

    id: int
    name: str
    host: str
    pid: int
    version: str
    liveness: Liveness
    draining: bool
    slots: int
    leases: int  # jobs that it holds now: the slots in use
    oldest_lease_ms: int | None  # when the oldest of them was leased
    rate: Rate  # answers that it brought in the last 15 minutes; `tokens` is 0, since none are counted by worker
    failed_last_hour: int  # failed attempts
    started_ms: int
    heartbeat_ms: int
    stopped_ms: int | None

    @property
    def open(self) -> bool:
        """Whether it has neither stopped nor been declared dead."""
        return self.stopped_ms is None


@dataclass(frozen=True, slots=True)
class LeaseLine:
    """A job that a worker holds."""

    dataset: str
    sample_id: str
    replica: int
    attempt: int
    worker: int
    worker_name: str
    leased_ms: int | None
    deadline_ms: int  # from then on it may be taken from a live worker


@dataclass(frozen=True, slots=True)
class EndpointCard:
    """One identity of a server. `current` is the newest of its base URL."""

    id: int
    base_url: str
    model: str
    facts: tuple[tuple[str, str], ...]  # of the fingerprint, by name; empty where it could not be read
    version: str | None
    reasoning_parser: str | None
    tool_call_parser: str | None
    first_seen_ms: int
    last_seen_ms: int
    current: bool

    @property
    def unknown(self) -> bool:
        """Whether the server told nothing of itself."""
        return not self.facts


@dataclass(frozen=True, slots=True)
class WorkersPage:
    """All workers that are open, the latest of the others, and what they hold."""

    as_of_ms: int
    seq: int
    workers: tuple[WorkerLine, ...]  # open ones first
    stopped: int
    declared_dead: int
    leases: int  # of all workers
    oldest: tuple[LeaseLine, ...]
    endpoints: tuple[EndpointCard, ...]

    def count(self, liveness: Liveness) -> int:
        """Workers of one liveness, those that are not listed too."""
        closed = {Liveness.STOPPED: self.stopped, Liveness.DEAD: self.declared_dead}
        return closed.get(liveness, 0) + sum(worker.open and worker.liveness is liveness for worker in self.workers)
