"""What needs a person: alarms with their numbers, since when, what to do, and where the evidence is."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.model.gates import AlarmKind
from app.model.lease import Cause
from app.model.loss_flags import LossFlag
from app.model.verdicts import Fraction, Verdict
from app.progress import statements as overview_statements
from app.progress import statements_workers as statements
from app.progress.filters import Filter
from app.store.store import Store
from app.store.transaction import Reads

CLEARED_SHOWN = 20
STALE_MS = 120_000  # an evaluation that is older counts as none


class AlarmState(StrEnum):
    """What became of an alarm."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"  # a person has seen it; it still stands
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where to look: samples of a dataset, or a page."""

    page: str  # samples, dataset, workers, endpoints, or store: its facts
    dataset: str | None = None
    wanted: Filter | None = None


@dataclass(frozen=True, slots=True)
class AlarmLine:
    """One alarm. `part` of `whole` are its numbers, where it counts something."""

    id: int
    kind: str
    state: AlarmState
    dataset: str | None
    endpoint: str | None  # base URL
    holds: bool
    since_ms: int
    last_ms: int  # when its numbers were last renewed
    part: int | None
    whole: int | None
    message: str
    advice: str
    evidence: Evidence | None

    @property
    def numbers(self) -> Fraction | None:
        return None if self.part is None or self.whole is None else Fraction(self.part, self.whole)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """When the alarms that time triggers were last looked at, and by whom."""

    at_ms: int | None  # None: never
    by: str | None
    age_ms: int | None

    @property
    def stale(self) -> bool:
        """Whether nobody evaluates them."""
        return self.age_ms is None or self.age_ms > STALE_MS


@dataclass(frozen=True, slots=True)
class AlertsPage:
    """All alarms that stand, those that hold a dataset first, and the latest that are over."""

    as_of_ms: int
    seq: int
    standing: tuple[AlarmLine, ...]
    cleared: tuple[AlarmLine, ...]
    evaluation: Evaluation

    @property
    def open(self) -> tuple[AlarmLine, ...]:
        """Those that nobody has seen to: the number in the header."""
        return tuple(alarm for alarm in self.standing if alarm.state is AlarmState.OPEN)


async def alerts_page(store: Store) -> AlertsPage:
    """All of it, from one snapshot."""
    return await store.read(lambda reads: _page(reads, store.now_ms()))


async def _page(reads: Reads, now_ms: int) -> AlertsPage:
    lines = [_line(row) for row in await reads.rows(statements.alarms())]
    evaluation = evaluation_of(await reads.first(statements.evaluator()), now_ms)
    seq = int(await reads.value(overview_statements.seq()))
    over = sorted((line for line in lines if line.state is AlarmState.CLEARED), key=lambda line: -line.last_ms)
    return AlertsPage(
        as_of_ms=now_ms,
        seq=seq,
        standing=tuple(line for line in lines if line.state is not AlarmState.CLEARED),
        cleared=tuple(over[:CLEARED_SHOWN]),
        evaluation=evaluation,
    )


def standing_of(rows: Iterable[Any]) -> tuple[AlarmLine, ...]:
    """The alarms of these rows that stand."""
    return tuple(_line(row) for row in rows if row.state != AlarmState.CLEARED)


def evaluation_of(row: Any, now_ms: int) -> Evaluation:
    """When somebody looked, from the evaluator's row, or from none."""
    if row is None:
        return Evaluation(None, None, None)
    return Evaluation(row.evaluated_ms, row.holder, max(0, now_ms - row.evaluated_ms))


def _line(row: Any) -> AlarmLine:
    return AlarmLine(
        id=row.id, kind=row.kind, state=AlarmState(row.state), dataset=row.dataset, endpoint=row.base_url,
        holds=bool(row.holds), since_ms=row.since_ms, last_ms=row.last_ms, part=row.part, whole=row.whole,
        message=row.message, advice=_ADVICE[AlarmKind(row.kind)], evidence=evidence(AlarmKind(row.kind), row.dataset),
    )  # fmt: skip


_MEND = "Look at the answers, mend the server, then resume: by a passed probe, or on your word."
_ADVICE = {
    AlarmKind.GATE: _MEND,
    AlarmKind.CAPTURE_LOW: _MEND,
    AlarmKind.UNREADABLE: _MEND,
    AlarmKind.LOST_ANY: "Look at the lost answers. A better parser may still find their reasoning: reparse shows it.",
    AlarmKind.TRUNCATED_HIGH: "Allow more tokens for the dataset, then retry what was truncated.",
    AlarmKind.SERVER_CHANGED: "Compare the flags of both servers. It ends when the first answers are captured.",
    AlarmKind.STALLED: "Look at the server's log and its health. Open requests end at their time-out.",
    AlarmKind.WORKER_DEAD: "Look at the worker's log, and start it again.",
    AlarmKind.TEXT_SHORT: "Compare the raw bodies of some with their token counts: a parser on the way drops text.",
    AlarmKind.CUT_UPSTREAM: "Look for what cuts thoughts off: the server's parser, a proxy, or the tool they come of.",
    AlarmKind.DISK_LOW: "Free some space, or move the store to a larger disk.",
    AlarmKind.ENDPOINT_DOWN: "Look at the server. Nothing is lost meanwhile: its jobs are offered again by themselves.",
    AlarmKind.BACKUP_OLD: "Make a backup, best every day by a timer, on another disk.",
    AlarmKind.INTEGRITY: "Stop the workers, keep the store as it is, and read what `thinkledger verify --full` finds.",
}
_SAMPLES = {
    AlarmKind.GATE: Filter(verdict=Verdict.MISSING),
    AlarmKind.CAPTURE_LOW: Filter(verdict=Verdict.MISSING),
    AlarmKind.LOST_ANY: Filter(verdict=Verdict.MISSING),
    AlarmKind.TRUNCATED_HIGH: Filter(verdict=Verdict.TRUNCATED),
    AlarmKind.UNREADABLE: Filter(cause=Cause.MALFORMED),
    AlarmKind.TEXT_SHORT: Filter(flag=LossFlag.TEXT_SHORT),
    AlarmKind.CUT_UPSTREAM: Filter(flag=LossFlag.CUT_UPSTREAM),
    AlarmKind.STALLED: Filter(state="leased"),
}
_PAGES = {
    AlarmKind.WORKER_DEAD: "workers",
    AlarmKind.SERVER_CHANGED: "endpoints",
    AlarmKind.ENDPOINT_DOWN: "endpoints",
    AlarmKind.DISK_LOW: "store",
    AlarmKind.BACKUP_OLD: "store",
    AlarmKind.INTEGRITY: "store",
}


def evidence(kind: AlarmKind, dataset: str | None) -> Evidence | None:
    """Where an alarm of this kind is to be looked at."""
    if kind is AlarmKind.INTEGRITY and dataset is not None:
        return Evidence("dataset", dataset)
    if kind in _PAGES:
        return Evidence(_PAGES[kind])
    return None if dataset is None else Evidence("samples", dataset, _SAMPLES[kind])
