"""Workers, what they hold, and the servers they ask: computed when it is read."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.gates.health import Endpoints, endpoints_in
from app.leasing import locks
from app.progress import rates
from app.progress import statements as overview_statements
from app.progress import statements_workers as statements
from app.progress.overview import Liveness, liveness
from app.progress.rates import MINUTE_MS, Minute, Rate
from app.store.store import Store
from app.store.transaction import Reads

CLOSED_SHOWN = 20  # workers that stopped or died, the latest first
LEASES_SHOWN = 20
ENDPOINTS_SHOWN = 20
_HOUR_MS = 60 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """One start of a worker process."""

    id: int
    name: str
    host: str
    pid: int
    version: str
    liveness: Liveness
    draining: bool
    slots: int
    leases: int  # jobs that it holds now: the slots in use
    oldest_lease_ms: int | None  # when the oldest of them was leased
    rate: Rate  # bodies that it stored in the last 15 minutes; `tokens` is 0, since none are counted by worker
    failed_last_hour: int  # failed attempts
    started_ms: int
    heartbeat_ms: int
    stopped_ms: int | None

    @property
    def open(self) -> bool:
        """Whether it has neither stopped nor been declared dead."""
        return self.stopped_ms is None


@dataclass(frozen=True, slots=True)
class LeaseLine:
    """A job that a worker holds."""

    dataset: str
    sample_id: str
    replica: int
    attempt: int
    worker: int
    worker_name: str
    leased_ms: int | None
    deadline_ms: int  # from then on it may be taken from a live worker


@dataclass(frozen=True, slots=True)
class EndpointCard:
    """One identity of a server. `current` is the newest of its base URL."""

    id: int
    base_url: str
    model: str
    facts: tuple[tuple[str, str], ...]  # of the fingerprint, by name; empty where it could not be read
    version: str | None
    reasoning_parser: str | None
    tool_call_parser: str | None
    first_seen_ms: int
    last_seen_ms: int
    current: bool

    @property
    def unknown(self) -> bool:
        """Whether the server told nothing of itself."""
        return not self.facts


@dataclass(frozen=True, slots=True)
class WorkersPage:
    """All workers that are open, the latest of the others, and what they hold."""

    as_of_ms: int
    seq: int
    workers: tuple[WorkerLine, ...]  # open ones first
    stopped: int
    declared_dead: int
    leases: int  # of all workers
    oldest: tuple[LeaseLine, ...]
    endpoints: tuple[EndpointCard, ...]
    asked: Endpoints  # those that the open workers ask now, and how they find them

    def count(self, liveness: Liveness) -> int:
        """Workers of one liveness, those that are not listed too."""
        closed = {Liveness.STOPPED: self.stopped, Liveness.DEAD: self.declared_dead}
        return closed.get(liveness, 0) + sum(worker.open and worker.liveness is liveness for worker in self.workers)


async def workers_page(store: Store) -> WorkersPage:
    """All of it, from one snapshot."""
    return await store.read(lambda reads: _page(reads, store))


async def _page(reads: Reads, store: Store) -> WorkersPage:
    now_ms = store.now_ms()
    opened = await reads.rows(statements.open_workers())
    closed = await reads.rows(statements.closed_workers(), {"limit": CLOSED_SHOWN})
    counted = {row.state: row.n for row in await reads.rows(overview_statements.closed_workers())}
    held = {row.lease_worker: row for row in await reads.rows(statements.leases())}
    minutes = await _minutes(reads, now_ms)
    gone = locks.gone(store.place.workers, [row.uuid for row in opened])
    return WorkersPage(
        as_of_ms=now_ms,
        seq=int(await reads.value(overview_statements.seq())),
        workers=tuple(_line(row, held.get(row.id), minutes[row.id], now_ms, gone) for row in (*opened, *closed)),
        stopped=counted.get("stopped", 0),
        declared_dead=counted.get("dead", 0),
        leases=sum(row.n for row in held.values()),
        oldest=tuple(_lease(row) for row in await reads.rows(statements.oldest_leases(), {"limit": LEASES_SHOWN})),
        endpoints=_cards(await reads.rows(statements.endpoints(), {"limit": ENDPOINTS_SHOWN})),
        asked=await endpoints_in(reads, now_ms, store.place.workers),
    )


async def _minutes(reads: Reads, now_ms: int) -> Mapping[int, Sequence[Minute]]:
    since = (now_ms - _HOUR_MS) // MINUTE_MS
    found: dict[int, list[Minute]] = defaultdict(list)
    for row in await reads.rows(statements.worker_minutes(), {"since": since, "since_ms": since * MINUTE_MS}):
        found[row.worker_id].append(Minute(row.minute, row.bodies, row.failed))
    return found


def _line(row: Any, held: Any, minutes: Sequence[Minute], now_ms: int, gone: Collection[str]) -> WorkerLine:
    return WorkerLine(
        id=row.id, name=row.name, host=row.host, pid=row.pid, version=row.version,
        liveness=liveness(row.state, row.heartbeat_ms, row.ttl_ms, now_ms, gone=row.uuid in gone),
        draining=row.state == "draining",
        slots=row.slots, leases=0 if held is None else held.n, oldest_lease_ms=None if held is None else held.oldest_ms,
        rate=rates.rate(minutes, now_ms, row.started_ms),
        failed_last_hour=rates.failed_within(minutes, now_ms, _HOUR_MS),
        started_ms=row.started_ms, heartbeat_ms=row.heartbeat_ms, stopped_ms=row.stopped_ms,
    )  # fmt: skip


def _lease(row: Any) -> LeaseLine:
    return LeaseLine(
        row.dataset, row.sample_id, row.replica, row.attempt, row.lease_worker, row.worker, row.leased_ms,
        row.lease_deadline_ms,
    )  # fmt: skip


def _cards(rows: Iterable[Any]) -> tuple[EndpointCard, ...]:
    """Cards in the order of the rows, the latest seen first; of each base URL the first is the current one."""
    seen: set[str] = set()
    cards = []
    for row in rows:
        cards.append(_card(row, current=row.base_url not in seen))
        seen.add(row.base_url)
    return tuple(cards)


def _card(row: Any, *, current: bool) -> EndpointCard:
    known = json.loads(row.fingerprint)
    facts = {name: str(value) for name, value in known.items() if value is not None} if isinstance(known, dict) else {}
    return EndpointCard(
        id=row.id, base_url=row.base_url, model=row.model, facts=tuple(sorted(facts.items())),
        version=facts.get("version"), reasoning_parser=facts.get("reasoning_parser"),
        tool_call_parser=facts.get("tool_call_parser"), first_seen_ms=row.first_seen_ms, last_seen_ms=row.last_seen_ms,
        current=current,
    )  # fmt: skip
