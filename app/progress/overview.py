"""What the Overview says: frozen values, with every number that is shown in more than one place."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.gates.health import Endpoints
from app.model.errors import no_such_dataset
from app.model.gates import AlarmKind
from app.model.lease import Cause
from app.model.limits import least_free_disk
from app.model.states import OPEN, JobState
from app.model.sums import Sums
from app.model.verdicts import Fraction, Verdict, capture_rate
from app.progress.eta import Eta
from app.progress.rates import Rate
from app.spool.looking import SpoolState

LATE_AFTER_MS = 30_000  # two heartbeats
NO_TURNS = Fraction(0, 0)


@dataclass(frozen=True, slots=True)
class Tally:
    """Jobs by state and verdict, from the counters, beside the number of jobs from the import order.

    Counters and order come from different places: triggers count each move of a job, while `total` is the place of
    the last job in the order of import, times its replicas. A move that was not counted, or a job that is gone,
    makes them differ; then `adds_up` is False and whoever shows a tally says so.
    """

    total: int
    states: Mapping[JobState, int]
    expected: Mapping[Verdict, int]  # verdicts of done jobs where thinking was expected
    unexpected: Mapping[Verdict, int]  # and where it was switched off
    late: int  # answers kept without being accepted
    tokens: int  # completion tokens of done jobs
    failed: Mapping[str, int] = field(default_factory=dict)  # failed jobs by cause
    turns: Fraction = NO_TURNS  # of conversations: answered, of all that their samples ask for

    @property
    def summed(self) -> int:
        return sum(self.states.values())

    @property
    def adds_up(self) -> bool:
        """Every job in exactly one state, and every done job with exactly one verdict."""
        return self.sums.add_up

    @property
    def sums(self) -> Sums:
        verdicts = sum(self.expected.values()) + sum(self.unexpected.values())
        return Sums(self.total, self.summed, self.state(JobState.DONE), verdicts)

    @property
    def progress(self) -> Fraction:
        return Fraction(self.state(JobState.DONE), self.total)

    @property
    def remaining(self) -> int:
        return sum(self.state(state) for state in OPEN)

    @property
    def capture(self) -> Fraction:
        return capture_rate(dict(self.expected))

    @property
    def truncated(self) -> Fraction:
        """Of all done jobs where thinking was expected."""
        return Fraction(self.expected.get(Verdict.TRUNCATED, 0), sum(self.expected.values()))

    @property
    def missing(self) -> int:
        return self.expected.get(Verdict.MISSING, 0)

    @property
    def leaked(self) -> int:
        return self.verdict(Verdict.LEAKED)

    @property
    def lost(self) -> int:
        """Answers without usable reasoning where it was expected, and answers mixed up with it."""
        return self.missing + self.leaked

    def failed_by(self, cause: str) -> int:
        """Failed jobs whose latest failure has this cause."""
        return self.failed.get(cause, 0)

    def state(self, state: JobState) -> int:
        return self.states.get(state, 0)

    def verdict(self, verdict: Verdict) -> int:
        return self.expected.get(verdict, 0) + self.unexpected.get(verdict, 0)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast, and until when."""

    rate: Rate
    eta: Eta
    failed_last_hour: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A reason that stands not to claim from a dataset."""

    kind: str
    reason: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that needs a person. `dataset` is None where it is about a server or the store."""

    id: int
    kind: str
    dataset: str | None
    holds: bool
    since_ms: int
    last_ms: int
    part: int | None
    whole: int | None
    message: str
    tell_tries: int = 0  # how often it could not be told elsewhere, in a row
    tell_error: str | None = None  # why not, the last time


@dataclass(frozen=True, slots=True)
class DatasetProgress:
    """One dataset. Its jobs are its samples times its replicas."""

    id: int
    name: str
    samples: int
    replicas: int
    tally: Tally
    pace: Pace
    holds: tuple[Hold, ...]


class Liveness(StrEnum):
    """Of a worker, at the moment of reading."""

    LIVE = "live"
    LATE = "late"  # no heartbeat for 30 seconds
    GONE = "gone"  # its process has ended without a word: nobody holds its lock file
    STOPPED = "stopped"
    DEAD = "dead"  # declared so, or silent for its whole time to live


@dataclass(frozen=True, slots=True)
class OpenWorker:
    """A worker that has neither stopped nor been declared dead."""

    id: int
    name: str
    host: str
    pid: int
    slots: int
    draining: bool
    started_ms: int
    heartbeat_ms: int
    liveness: Liveness


@dataclass(frozen=True, slots=True)
class Workers:
    """All workers there were: the open ones by name, the others by number."""

    open: tuple[OpenWorker, ...]
    stopped: int
    declared_dead: int

    @property
    def working(self) -> int:
        """Those that are not known to have ended."""
        return sum(worker.liveness in (Liveness.LIVE, Liveness.LATE) for worker in self.open)

    def count(self, liveness: Liveness) -> int:
        closed = {Liveness.STOPPED: self.stopped, Liveness.DEAD: self.declared_dead}
        return closed.get(liveness, 0) + sum(worker.liveness is liveness for worker in self.open)


@dataclass(frozen=True, slots=True)
class Usage:
    """The disk of a folder, in bytes."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class Need:
    """What is still to come. `answer_bytes` is None while there is no answer to go by."""

    open_jobs: int
    answer_bytes: int | None

    @property
    def total(self) -> int | None:
        return None if self.answer_bytes is None else self.answer_bytes * self.open_jobs


@dataclass(frozen=True, slots=True)
class Overview:
    """All datasets at one moment."""

    as_of_ms: int
    seq: int
    store_path: str
    store_bytes: int  # with its WAL
    datasets: tuple[DatasetProgress, ...]
    total: Tally
    pace: Pace
    workers: Workers
    alarms: tuple[Alarm, ...] = ()
    disk_total: int = 0
    disk_free: int = 0
    need: Need = Need(0, None)
    backup_ms: int | None = None  # when the newest backup was made
    endpoints: Endpoints = field(default_factory=Endpoints)
    spool: SpoolState = field(default_factory=SpoolState)  # answers that are on disk and not in the store
    wal_bytes: int = 0
    on_server: bool = False  # backups of it are the server's own

    def dataset(self, name: str) -> DatasetProgress:
        """The one of that name; NotFound says which there are."""
        found = next((one for one in self.datasets if one.name == name), None)
        if found is None:
            raise no_such_dataset(name, sorted(one.name for one in self.datasets))
        return found

    @property
    def disk_low(self) -> bool:
        """Whether a worker that was told no other floor asks nothing new."""
        return self.disk_free < least_free_disk(self.disk_total)

    @property
    def warnings(self) -> tuple[Alarm, ...]:
        """The alarms that no hold and no mismatch beside them says already."""
        said = {hold.reason for dataset in self.datasets for hold in dataset.holds}
        wrong = {(AlarmKind.INTEGRITY, dataset.name) for dataset in self.datasets if not dataset.tally.adds_up}
        return tuple(
            alarm for alarm in self.alarms if alarm.message not in said and (alarm.kind, alarm.dataset) not in wrong
        )

    @property
    def untold(self) -> tuple[Alarm, ...]:
        """Alarms that the webhook did not take."""
        return tuple(alarm for alarm in self.alarms if alarm.tell_error is not None)

    @property
    def adds_up(self) -> bool:
        return all(dataset.tally.adds_up for dataset in self.datasets)


def liveness(state: str, heartbeat_ms: int, ttl_ms: int, now_ms: int, *, gone: bool = False) -> Liveness:
    """For display only: whether a worker loses its leases is decided by its lock and its beats, never by this clock."""
    if state == "stopped":
        return Liveness.STOPPED
    if state == "dead":
        return Liveness.DEAD
    if gone:
        return Liveness.GONE
    silent_ms = now_ms - heartbeat_ms
    if silent_ms > ttl_ms:
        return Liveness.DEAD
    return Liveness.LATE if silent_ms > LATE_AFTER_MS else Liveness.LIVE


def sum_of(tallies: Iterable[Tally]) -> Tally:
    """Several datasets as one."""
    every = list(tallies)
    return Tally(
        total=sum(tally.total for tally in every),
        states={state: sum(tally.state(state) for tally in every) for state in JobState},
        expected={verdict: sum(tally.expected.get(verdict, 0) for tally in every) for verdict in Verdict},
        unexpected={verdict: sum(tally.unexpected.get(verdict, 0) for tally in every) for verdict in Verdict},
        late=sum(tally.late for tally in every),
        tokens=sum(tally.tokens for tally in every),
        failed={cause: sum(tally.failed_by(cause) for tally in every) for cause in Cause},
        turns=Fraction(sum(tally.turns.part for tally in every), sum(tally.turns.whole for tally in every)),
    )
