"""A worker as words: the same on its page and in the terminal."""

from dataclasses import dataclass

from app.progress import wording
from app.progress.overview import Liveness
from app.progress.workers import WorkerLine


@dataclass(frozen=True, slots=True)
class WorkerWords:
    """What is said of one start of a worker."""

    where: str
    state: str
    slots: str
    rate: str
    failed: str
    oldest: str
    heartbeat: str
    started: str


def worker_words(one: WorkerLine, now_ms: int) -> WorkerWords:
    """One worker; the age of its heartbeat only where it says something."""
    draining = ", draining" if one.draining and one.open else ""
    late = f"{wording.age(now_ms - one.heartbeat_ms)} ago"
    return WorkerWords(
        where=f"{one.host}, process {one.pid}",
        state=f"{one.liveness}{draining}",
        slots=f"{one.leases:,} of {one.slots:,}",
        rate=wording.per_hour(one.rate) if one.open else "-",
        failed=f"{one.failed_last_hour:,}",
        oldest="-" if one.oldest_lease_ms is None else wording.moment(one.oldest_lease_ms),
        heartbeat="on time" if one.liveness is Liveness.LIVE else late,
        started=wording.moment(one.started_ms),
    )
