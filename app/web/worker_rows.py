"""Open workers as ready words, on the Overview and on their own page."""

from dataclasses import dataclass

from app.progress import wording
from app.progress.overview import Liveness, OpenWorker
from app.web.marks import Mark, worker_mark
from app.web.site import Site


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One open worker."""

    key: str
    name: str
    where: str
    mark: Mark
    slots: str
    heartbeat: str
    started: str
    drain: str | None  # where a form that drains it goes; None: it drains already


def worker_row(site: Site, worker: OpenWorker, now_ms: int) -> WorkerRow:
    """One worker as a line."""
    return WorkerRow(
        key=f"worker-{worker.id}",
        name=worker.name,
        where=f"{worker.host}, process {worker.pid}",
        mark=worker_mark(worker),
        slots=f"{worker.slots:,}",
        heartbeat=_heartbeat(worker, now_ms),
        started=wording.moment(worker.started_ms),
        drain=None if worker.draining else site.url(f"/workers/{worker.id}/drain"),
    )


def _heartbeat(worker: OpenWorker, now_ms: int) -> str:
    """The age only where it says something: one that counts up at every look would make every look a change."""
    if worker.liveness is Liveness.LIVE:
        return "on time"
    return f"{wording.age(now_ms - worker.heartbeat_ms)} ago"
