"""What a monitoring system is told by one exit code: the worst of all that needs a person."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.model.exits import Exit
from app.model.gates import AlarmKind
from app.progress import wording
from app.progress.alerts import Evaluation
from app.progress.overview import Overview

# The first of these that anything calls for is the exit code.
WORST_FIRST = (Exit.INTEGRITY, Exit.GATE, Exit.RESOURCE, Exit.TEMPORARY, Exit.INCOMPLETE, Exit.DONE)

CODES: dict[AlarmKind, Exit] = {
    AlarmKind.INTEGRITY: Exit.INTEGRITY,
    AlarmKind.GATE: Exit.GATE,
    AlarmKind.CAPTURE_LOW: Exit.GATE,
    AlarmKind.LOST_ANY: Exit.GATE,
    AlarmKind.UNREADABLE: Exit.GATE,
    AlarmKind.TRUNCATED_HIGH: Exit.GATE,
    AlarmKind.TEXT_SHORT: Exit.GATE,
    AlarmKind.CUT_UPSTREAM: Exit.GATE,
    AlarmKind.DISK_LOW: Exit.RESOURCE,
    AlarmKind.ENDPOINT_DOWN: Exit.TEMPORARY,
    AlarmKind.STALLED: Exit.TEMPORARY,
    AlarmKind.WORKER_DEAD: Exit.TEMPORARY,
    AlarmKind.SERVER_CHANGED: Exit.INCOMPLETE,
    AlarmKind.BACKUP_OLD: Exit.INCOMPLETE,
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that needs a person, and the exit code that says so."""

    exit: Exit
    kind: str
    dataset: str | None
    message: str


def troubles(overview: Overview, evaluation: Evaluation) -> list[Trouble]:
    """All of them, the worst first. What a person acknowledged, and a pause by a person, are none."""
    found = [*_of_alarms(overview), *_of_datasets(overview), *_of_the_run(overview, evaluation)]
    return sorted(found, key=lambda trouble: WORST_FIRST.index(trouble.exit))


def exit_of(found: list[Trouble]) -> Exit:
    """The code of the worst; 0 where there is nothing."""
    return found[0].exit if found else Exit.DONE


def _of_alarms(overview: Overview) -> Iterator[Trouble]:
    for alarm in overview.alarms:
        yield Trouble(CODES[AlarmKind(alarm.kind)], alarm.kind, alarm.dataset, alarm.message)


def _of_datasets(overview: Overview) -> Iterator[Trouble]:
    said = {alarm.message for alarm in overview.alarms}
    for one in overview.datasets:
        if (mismatch := wording.mismatch(one.tally)) is not None:
            yield Trouble(Exit.INTEGRITY, "mismatch", one.name, mismatch)
        for hold in one.holds:
            if hold.kind != "person" and hold.reason not in said:  # its alarm was acknowledged, and it stands still
                yield Trouble(Exit.GATE, f"held by {hold.kind}", one.name, hold.reason)


def _of_the_run(overview: Overview, evaluation: Evaluation) -> Iterator[Trouble]:
    if overview.disk_low and not any(alarm.kind == AlarmKind.DISK_LOW for alarm in overview.alarms):
        yield Trouble(Exit.RESOURCE, "disk_low", None, f"{wording.size(overview.disk_free)} are free")
    if evaluation.stale and any(one.tally.remaining and not one.holds for one in overview.datasets):
        message = "Jobs are open, and nobody evaluates what time triggers: neither a worker nor a dashboard runs."
        yield Trouble(Exit.TEMPORARY, "nobody_looks", None, message)
