"""What stands now of what an alarm speaks of: its own text keeps the numbers of the moment it was written."""

from app.model.gates import AlarmKind
from app.model.lease import Cause
from app.model.states import JobState
from app.progress import wording
from app.progress.overview import DatasetProgress, Overview


def present(kind: str, dataset: str | None, now: Overview) -> str:
    """The present figures in a few words; empty where there are none to tell."""
    one = next((each for each in now.datasets if each.name == dataset), None)
    if one is not None:
        return _of_dataset(kind, one)
    match kind:
        case AlarmKind.ENDPOINT_DOWN | AlarmKind.SERVER_CHANGED:
            return wording.endpoints(now.endpoints)
        case AlarmKind.WORKER_DEAD:
            return f"workers: {wording.workers(now.workers)}"
        case AlarmKind.DISK_LOW:
            return f"{wording.size(now.disk_free)} free"
        case AlarmKind.BACKUP_OLD:
            return wording.last_backup(now.backup_ms, on_server=now.on_server)
        case _:
            return ""


def _of_dataset(kind: str, one: DatasetProgress) -> str:
    tally = one.tally
    match kind:
        case AlarmKind.STALLED:
            return f"{tally.state(JobState.LEASED):,} leased, {tally.progress} done"
        case AlarmKind.TRUNCATED_HIGH:
            return f"{tally.truncated} answers truncated, {tally.truncated.percent}"
        case AlarmKind.UNREADABLE:
            return f"{tally.progress} done, {tally.failed_by(Cause.MALFORMED):,} failed as malformed"
        case AlarmKind.INTEGRITY:
            return f"sum {tally.summed:,}, {tally.total:,} jobs"
        case _:
            return f"{tally.capture} captured, {tally.capture.percent}; {tally.lost:,} lost"
