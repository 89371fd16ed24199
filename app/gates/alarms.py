"""Alarms: what needs a person, as rows, so that commands, pages and metrics agree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.gates import statements
from app.leasing import events
from app.model.gates import AlarmKind
from app.model.ids import DatasetId, EndpointId, WorkerId
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that needs a person: about a dataset, a server, or what one did to the other."""

    kind: AlarmKind
    message: str
    dataset: DatasetId | None = None
    endpoint: EndpointId | None = None
    worker: WorkerId | None = None
    holds: bool = False
    part: int | None = None
    whole: int | None = None
    url: str | None = None  # of a server, whatever its identity is

    @property
    def subject(self) -> str:
        """What it is about, as a key: an alarm of one kind about one subject is one row."""
        if self.url is not None:
            return f"url {self.url}"
        about = (("dataset", self.dataset), ("endpoint", self.endpoint), ("worker", self.worker))
        return " ".join(f"{noun} {number}" for noun, number in about if number is not None)


async def raise_alarms(tx: Tx, alarms: Sequence[Alarm]) -> None:
    """Open alarms, or update those that stand."""
    await tx.many(statements.raise_alarm(), [_row(tx, alarm) for alarm in alarms])


def _row(tx: Tx, alarm: Alarm) -> dict[str, int | str | None]:
    return {
        "kind": alarm.kind, "subject": alarm.subject, "dataset_id": alarm.dataset, "endpoint_id": alarm.endpoint,
        "state": "open", "holds": int(alarm.holds), "since_ms": tx.now_ms, "last_ms": tx.now_ms,
        "part": alarm.part, "whole": alarm.whole, "message": alarm.message,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """A person has seen an alarm. It stands until what caused it is over, and is open again if it gets worse."""

    alarm: int
    by: str  # web, or the command


async def acknowledge(tx: Tx, requests: Sequence[Acknowledge]) -> list[bool]:
    """Whether each alarm was open."""
    return [await _acknowledge(tx, request) for request in requests]


async def _acknowledge(tx: Tx, request: Acknowledge) -> bool:
    row = await tx.first(statements.acknowledge(), {"alarm": request.alarm})
    if row is None:
        return False
    await tx.seq()
    await events.note(
        tx, "alarm_acknowledged", dataset=row.dataset_id, alarm=request.alarm, alarm_kind=row.kind, by=request.by
    )
    return True


async def end_warnings(tx: Tx, dataset: DatasetId, endpoint: EndpointId, kinds: Iterable[AlarmKind]) -> None:
    """Warnings of these kinds are over; what holds stands until it is resumed."""
    about = {"dataset": dataset, "endpoint": endpoint}
    await tx.run(statements.end_warnings(), {**about, "kinds": sorted(kinds), "now_ms": tx.now_ms})


async def end_for_dataset(tx: Tx, dataset: DatasetId, kinds: Iterable[AlarmKind]) -> None:
    """Alarms of these kinds are over for a whole dataset."""
    await tx.run(statements.end_of_dataset(), {"dataset": dataset, "kinds": sorted(kinds), "now_ms": tx.now_ms})


async def end_for_endpoint(tx: Tx, endpoint: EndpointId, kinds: Iterable[AlarmKind]) -> None:
    """Alarms of these kinds about a server are over."""
    await tx.run(statements.end_of_endpoint(), {"endpoint": endpoint, "kinds": sorted(kinds), "now_ms": tx.now_ms})
