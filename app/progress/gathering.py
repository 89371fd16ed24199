"""The one function behind the Overview page, its JSON twin and `status`: from counters and buckets only."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.gates.health import Endpoints, endpoints_in
from app.gates.stalling import stalled
from app.leasing import locks
from app.model.errors import no_such_dataset
from app.model.lease import Cause
from app.model.states import JobState
from app.model.verdicts import Fraction, Verdict
from app.progress import rates, statements
from app.progress.disk import disk_usage, need_in
from app.progress.eta import Eta, Situation, eta
from app.progress.overview import (
    Alarm,
    DatasetProgress,
    Hold,
    Need,
    OpenWorker,
    Overview,
    Pace,
    Tally,
    Workers,
    liveness,
    sum_of,
)
from app.progress.rates import HISTORY_MS, MINUTE_MS, Minute
from app.spool.looking import look
from app.store.store import Store
from app.store.transaction import Reads

_HOUR_MS = 60 * MINUTE_MS
_Rows = Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Found:
    """The rows of one snapshot."""

    now_ms: int
    store_bytes: int
    seq: int
    datasets: _Rows
    counters: _Rows
    minutes: _Rows
    holds: _Rows
    alarms: _Rows
    starts: _Rows
    open_workers: _Rows
    closed_workers: _Rows
    stalled: Collection[int]  # datasets
    need: Need
    backup_ms: int | None
    endpoints: Endpoints


async def overview(store: Store, name: str | None = None) -> Overview:
    """All datasets, or the one of that name, at this moment."""
    return await store.read(lambda reads: read_overview(reads, store, store.now_ms(), name))


async def read_overview(reads: Reads, store: Store, now_ms: int, name: str | None = None) -> Overview:
    """The same in a snapshot that is open. Files are looked at too: beside others, from a thread that may wait."""
    return _overview(store, await _find(reads, store, now_ms), name)


def _overview(store: Store, found: _Found, name: str | None) -> Overview:
    now_ms = found.now_ms
    if name is not None and all(row.name != name for row in found.datasets):
        raise no_such_dataset(name, sorted(row.name for row in found.datasets))
    gone = locks.gone(store.place.workers, [row.uuid for row in found.open_workers])
    workers = _workers(found, now_ms, gone)
    minutes = _minutes(found.minutes)
    holds = _holds(found.holds)
    clock = _Clock(now_ms, _starts(found.starts), workers.working, found.stalled)
    datasets = tuple(
        _dataset(row, _counts(found.counters, row.id), minutes[row.id], holds[row.id], clock)
        for row in found.datasets
        if name in (None, row.name)
    )
    disk = disk_usage(store.place.path.parent)
    total = sum_of(dataset.tally for dataset in datasets)
    return Overview(
        as_of_ms=now_ms,
        seq=found.seq,
        store_path=store.place.shown,
        store_bytes=found.store_bytes,
        datasets=datasets,
        total=total,
        pace=_pace_of_all(datasets, minutes, clock),
        workers=workers,
        disk_total=disk.total,
        disk_free=disk.free,
        need=found.need,
        backup_ms=found.backup_ms,
        endpoints=found.endpoints,
        alarms=tuple(_alarm(row) for row in found.alarms if name is None or row.name in (None, name)),
        spool=look(store.place),
        wal_bytes=store.place.wal_size(),
        on_server=store.place.server is not None,
    )


async def _find(reads: Reads, store: Store, now_ms: int) -> _Found:
    since_ms = now_ms - HISTORY_MS
    return _Found(
        now_ms=now_ms,
        store_bytes=await store.size(reads),
        seq=int(await reads.value(statements.seq())),
        datasets=await reads.rows(statements.datasets()),
        counters=await reads.rows(statements.counters()),
        minutes=await reads.rows(statements.minutes(), {"since": since_ms // MINUTE_MS}),
        holds=await reads.rows(statements.holds()),
        alarms=await reads.rows(statements.alarms()),
        starts=await reads.rows(statements.starts(), {"since_ms": since_ms}),
        open_workers=await reads.rows(statements.open_workers()),
        closed_workers=await reads.rows(statements.closed_workers()),
        stalled=await stalled(reads, now_ms),
        need=await need_in(reads),
        backup_ms=await reads.value(statements.last_backup()),
        endpoints=await endpoints_in(reads, now_ms, store.place.workers),
    )


@dataclass(frozen=True, slots=True)
class _Clock:
    """What the pace of every dataset is measured against."""

    now_ms: int
    starts: Mapping[int | None, int]  # last resume by dataset; None: last start of a worker
    workers: int
    stalled: Collection[int]

    def since_ms(self, dataset: int | None) -> int | None:
        known = [at_ms for key in {None, dataset} if (at_ms := self.starts.get(key)) is not None]
        return max(known, default=None)


def _dataset(
    row: Any, counts: Mapping[str, int], minutes: Sequence[Minute], holds: tuple[Hold, ...], clock: _Clock
) -> DatasetProgress:
    tally = Tally(
        total=row.samples * row.replicas,
        states={state: counts.get(f"state:{state}", 0) for state in JobState},
        expected={verdict: counts.get(f"expected:{verdict}", 0) for verdict in Verdict},
        unexpected={verdict: counts.get(f"unexpected:{verdict}", 0) for verdict in Verdict},
        late=counts.get("late", 0),
        tokens=counts.get("tokens", 0),
        failed={cause: counts.get(f"failed:{cause}", 0) for cause in Cause},
        turns=Fraction(counts.get("turns_answered", 0), counts.get("turns", 0)),
    )
    situation = Situation(
        tally.total,
        tally.remaining,
        [hold.kind for hold in holds],
        clock.workers,
        rate_known=False,
        stalled=row.id in clock.stalled,
    )
    pace = _pace(minutes, clock, clock.since_ms(row.id), situation)
    return DatasetProgress(row.id, row.name, row.samples, row.replicas, tally, pace, holds)


def _pace(minutes: Sequence[Minute], clock: _Clock, since_ms: int | None, situation: Situation) -> Pace:
    rate = rates.rate(minutes, clock.now_ms, since_ms)
    steps = rates.five_minute_counts(minutes, clock.now_ms, since_ms)
    return Pace(
        rate,
        eta(replace(situation, rate_known=rate.known), steps),
        rates.failed_within(minutes, clock.now_ms, _HOUR_MS),
    )


def _pace_of_all(datasets: Sequence[DatasetProgress], minutes: Mapping[int, Sequence[Minute]], clock: _Clock) -> Pace:
    """All datasets as one run. What is held does not keep it from ending, unless nothing else is left."""
    summed = rates.together([minutes[dataset.id] for dataset in datasets])
    moving = [dataset for dataset in datasets if not dataset.holds]
    remaining = sum(dataset.tally.remaining for dataset in moving)
    total = sum(dataset.tally.total for dataset in datasets)
    leased = [dataset.id for dataset in moving if dataset.tally.state(JobState.LEASED)]
    all_stalled = bool(leased) and all(dataset in clock.stalled for dataset in leased)
    situation = Situation(total, remaining, (), clock.workers, rate_known=False, stalled=all_stalled)
    pace = _pace(summed, clock, clock.since_ms(None), situation)
    stuck = [dataset for dataset in datasets if dataset.holds and dataset.tally.remaining]
    if remaining == 0 and stuck:
        return Pace(pace.rate, Eta(stuck[0].pace.eta.word), pace.failed_last_hour)
    return pace


def _counts(counters: _Rows, dataset: int) -> dict[str, int]:
    return {row.metric: row.n for row in counters if row.dataset_id == dataset}


def _minutes(rows: _Rows) -> dict[int, list[Minute]]:
    found: dict[int, list[Minute]] = defaultdict(list)
    for row in rows:
        found[row.dataset_id].append(Minute(row.minute, row.done, row.failed, row.tokens))
    return found


def _holds(rows: _Rows) -> dict[int, tuple[Hold, ...]]:
    found: dict[int, tuple[Hold, ...]] = defaultdict(tuple)
    for row in rows:
        found[row.dataset_id] += (Hold(row.kind, row.reason, row.since_ms),)
    return found


def _alarm(row: Any) -> Alarm:
    return Alarm(
        row.id, row.kind, row.name, bool(row.holds), row.since_ms, row.last_ms, row.part, row.whole, row.message,
        row.tell_tries, row.tell_error,
    )  # fmt: skip


def _starts(rows: Iterable[Any]) -> dict[int | None, int]:
    return {None if row.kind == "worker_started" else row.dataset_id: row.at_ms for row in rows}


def _workers(found: _Found, now_ms: int, gone: Collection[str]) -> Workers:
    closed = {row.state: row.n for row in found.closed_workers}
    return Workers(
        tuple(
            OpenWorker(
                id=row.id, name=row.name, host=row.host, pid=row.pid, slots=row.slots, draining=row.state == "draining",
                started_ms=row.started_ms, heartbeat_ms=row.heartbeat_ms,
                liveness=liveness(row.state, row.heartbeat_ms, row.ttl_ms, now_ms, gone=row.uuid in gone),
            )
            for row in found.open_workers
        ),
        stopped=closed.get("stopped", 0),
        declared_dead=closed.get("dead", 0),
    )  # fmt: skip
