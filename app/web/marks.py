"""States as icon and word, because colour is never alone."""

from dataclasses import dataclass

from app.gates.health import AskedEndpoint, Endpoints, Reach
from app.model.gates import AlarmKind
from app.model.states import JobState
from app.model.verdicts import CAPTURED, Fraction, Verdict
from app.progress import wording
from app.progress.eta import PERSON, Word
from app.progress.overview import DatasetProgress, Liveness, OpenWorker, Overview, Tally

WARN_BELOW, ALARM_BELOW = 95, 80  # percent of captured answers
_OF_CAPTURE = frozenset({AlarmKind.GATE, AlarmKind.CAPTURE_LOW, AlarmKind.LOST_ANY})

_CHECK, _CROSS, _CIRCLE, _DISC = "\N{CHECK MARK}", "\N{BALLOT X}", "\N{WHITE CIRCLE}", "\N{BLACK CIRCLE}"
_RUNS, PAUSE = "\N{BLACK RIGHT-POINTING TRIANGLE}", "\N{DOUBLE VERTICAL LINE}"
_HALF = "\N{CIRCLE WITH LEFT HALF BLACK}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A state as icon and word. `tone` is good, warn, bad, busy or quiet."""

    tone: str
    icon: str
    word: str


_JOB = {
    JobState.READY: Mark("quiet", _CIRCLE, "ready"),
    JobState.LEASED: Mark("busy", _RUNS, "leased"),
    JobState.WAITING: Mark("quiet", _HALF, "waiting"),
    JobState.DONE: Mark("good", _CHECK, "done"),
    JobState.FAILED: Mark("bad", _CROSS, "failed"),
    JobState.CANCELLED: Mark("quiet", "-", "cancelled"),
}
_LIVENESS = {
    Liveness.LIVE: Mark("good", _DISC, "live"),
    Liveness.LATE: Mark("warn", _HALF, "late"),
    Liveness.GONE: Mark("bad", _CROSS, "gone"),
    Liveness.STOPPED: Mark("quiet", _CIRCLE, "stopped"),
    Liveness.DEAD: Mark("bad", _CROSS, "dead"),
}


_REACH = {
    Reach.NONE: ("quiet", _CIRCLE),
    Reach.NOT_ASKED: ("quiet", _CIRCLE),
    Reach.UP: ("good", _DISC),
    Reach.PARTLY: ("warn", "!"),
    Reach.DOWN: ("bad", _CROSS),
}


def endpoints_mark(found: Endpoints) -> Mark:
    """The servers of a run, in a few words."""
    return Mark(*_REACH[found.reach], wording.endpoints(found))


def endpoint_mark(one: AskedEndpoint) -> Mark:
    """One of them."""
    return Mark(*_REACH[one.reach], wording.endpoint(one))


def job_mark(state: JobState) -> Mark:
    """The state of a job."""
    return _JOB[state]


def verdict_mark(verdict: str) -> Mark:
    """The verdict of a reading."""
    if verdict in CAPTURED:
        return Mark("good", _CHECK, verdict)
    if verdict == Verdict.NONE_EXPECTED:
        return Mark("quiet", _CIRCLE, verdict)
    return Mark("warn", "!", verdict) if verdict == Verdict.TRUNCATED else Mark("bad", _CROSS, verdict)


def liveness_mark(liveness: Liveness) -> Mark:
    """Whether a worker is heard of."""
    return _LIVENESS[liveness]


def worker_mark(worker: OpenWorker) -> Mark:
    """The same, and whether it drains."""
    mark = _LIVENESS[worker.liveness]
    return Mark(mark.tone, mark.icon, f"{mark.word}, draining") if worker.draining else mark


def sum_mark(tally: Tally) -> Mark:
    """Whether the states add up to the total; a mismatch is never hidden."""
    if tally.adds_up:
        return Mark("good", _CHECK, f"sum {tally.summed:,} of {tally.total:,}")
    return Mark("bad", _CROSS, f"sum {tally.summed:,}, but {tally.total:,} jobs")


def dataset_mark(dataset: DatasetProgress) -> Mark:
    """What a dataset is doing."""
    if not dataset.tally.adds_up:
        return Mark("bad", _CROSS, "mismatch")
    match dataset.pace.eta.word:
        case Word.COMPLETE:
            failed = dataset.tally.state(JobState.FAILED)
            return Mark("warn", "!", f"{failed:,} failed") if failed else Mark("good", _CHECK, "complete")
        case Word.PAUSED:
            return Mark("warn", PAUSE, "paused")
        case Word.HELD:
            return Mark("bad", "!", "held")
        case Word.STALLED:
            return Mark("bad", "!", "stalled")
        case Word.EMPTY:
            return Mark("quiet", _CIRCLE, "empty")
        case Word.NO_WORKER:
            return Mark("quiet", _CIRCLE, "no worker")
        case _:
            leased = dataset.tally.state(JobState.LEASED)
            return Mark("busy", _RUNS, "running") if leased else Mark("quiet", _CIRCLE, "waiting")


def capture_mark(capture: Fraction, now: Overview, dataset: str | None = None) -> Mark:
    """Of a capture rate: good from 95 % on, a warning from 80 % on, and never better than the alarms about it."""
    held, open_alarm = _capture_trouble(now, dataset)
    if held:
        return Mark("bad", "!", "held")
    if capture.whole and capture.part * 100 < ALARM_BELOW * capture.whole:
        return Mark("bad", "!", "low")
    if open_alarm:
        return Mark("warn", "!", "alarm open")
    if capture.whole == 0:
        return Mark("quiet", "", "")
    return Mark("good", "", "") if capture.part * 100 >= WARN_BELOW * capture.whole else Mark("warn", "!", "low")


def _capture_trouble(now: Overview, dataset: str | None) -> tuple[bool, bool]:
    """Whether a dataset, or any, is held for its capture, and whether an alarm about it is open."""
    holds = (hold.kind for one in now.datasets if dataset in (None, one.name) for hold in one.holds)
    alarms = [one for one in now.alarms if one.kind in _OF_CAPTURE and dataset in (None, one.dataset)]
    return any(kind != PERSON for kind in holds) or any(one.holds for one in alarms), bool(alarms)
