"""Every answer is watched in the transaction that settles it, so that a hold comes with the answer that caused it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.gates import statements
from app.gates.alarms import Alarm, end_for_endpoint, end_warnings, raise_alarms
from app.leasing import events
from app.leasing.holds import HoldKind, HoldRequest, hold
from app.model.config import DatasetConfig
from app.model.gate_words import message
from app.model.gates import AlarmKind, Finding, Gate, Outcome, Rules, Watched, Window, watch
from app.model.ids import DatasetId, EndpointId
from app.store.batch import bind_rows
from app.store.transaction import Tx

_Pair = tuple[DatasetId, EndpointId]


@dataclass(frozen=True, slots=True)
class Came:
    """What came for a dataset from a server."""

    dataset: DatasetId
    endpoint: EndpointId
    outcome: Outcome


async def watch_answers(tx: Tx, came: Sequence[Came]) -> None:
    """Add answers to their windows, and hold what their limits say: two statements, whatever their number."""
    if not came:
        return
    outcomes: dict[_Pair, list[Outcome]] = {}
    for one in came:
        outcomes.setdefault((one.dataset, one.endpoint), []).append(one.outcome)
    rows = await tx.rows(statements.windows(), {"pairs": bind_rows(outcomes)})
    watched = {
        (row.dataset, row.endpoint): watch(window_of(row), outcomes[row.dataset, row.endpoint], rules_of(row))
        for row in rows
    }
    kept = [_kept(tx, pair, now.window) for pair, now in watched.items()]
    await tx.run(statements.keep_windows(), {"kept": bind_rows(kept)})
    for row in rows:
        await _say(tx, row, watched[row.dataset, row.endpoint])


def window_of(row: Any) -> Window:
    """The window in a row of the store; a new one where it has not begun."""
    return Window() if row.gate is None else Window(Gate(row.gate), row.first, row.recent, row.answers, row.lost)


def rules_of(row: Any) -> Rules:
    return Rules.of(DatasetConfig.from_json(row.config))


def _kept(tx: Tx, pair: _Pair, window: Window) -> tuple[int | str, ...]:
    return (*pair, tx.now_ms, window.gate, window.first, window.recent, window.answers, window.lost)


async def _say(tx: Tx, row: Any, watched: Watched) -> None:
    """Raise what is new, end what is over."""
    dataset, endpoint = DatasetId(row.dataset), EndpointId(row.endpoint)
    if watched.raised:
        found = [alarm_of(one, dataset, row.name, endpoint, row.base_url) for one in watched.raised]
        await report(tx, found)
    if watched.cleared:
        await end_warnings(tx, dataset, endpoint, watched.cleared)
    if watched.passed:
        await events.note(tx, "gate_passed", dataset=dataset, endpoint=endpoint)
        await end_for_endpoint(tx, endpoint, [AlarmKind.SERVER_CHANGED])


def alarm_of(
    found: Finding, dataset: DatasetId, name: str, endpoint: EndpointId | None = None, url: str | None = None
) -> Alarm:
    """A finding as an alarm."""
    return Alarm(
        kind=found.kind,
        message=message(found, name, url),
        dataset=dataset,
        endpoint=endpoint,
        holds=found.holds,
        part=found.part,
        whole=found.whole,
    )


async def report(tx: Tx, alarms: Sequence[Alarm]) -> None:
    """Raise alarms, and hold the datasets that they say must be held."""
    await raise_alarms(tx, alarms)
    requests = [
        HoldRequest(alarm.dataset, hold_kind(alarm.kind), alarm.message)
        for alarm in alarms
        if alarm.holds and alarm.dataset is not None
    ]
    await hold(tx, requests)


def hold_kind(kind: AlarmKind) -> HoldKind:
    """Whose hold an alarm is."""
    return HoldKind.GATE if kind is AlarmKind.GATE else HoldKind.ALARM
