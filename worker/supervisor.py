"""A run of the worker: endpoints, registration, and the tasks that live and fall together."""

import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import anyio
import anyio.to_thread

from app.gates.evaluating import keep_evaluating, look_once
from app.gates.telling import Herald
from app.gates.webhook import Webhook
from app.leasing import locks
from app.leasing.datasets import dataset_of
from app.leasing.workers import Leave, Registration, leave, register
from app.model.exits import Exit
from app.model.ids import WorkerId
from app.model.limits import BACKUP_OLD_MS
from app.responses.versions import refuse_newer
from app.spool.folders import open_own
from app.store import library
from app.store.engines import BUSY_TIMEOUT_MS
from app.store.store import Store, open_store
from worker.disk import Disk
from worker.display import show, tell_end
from worker.endpoint import connect, distinct
from worker.feeder import Feeder
from worker.gatekeeper import Gatekeeper
from worker.health import tell_health
from worker.heartbeat import beat, obey
from worker.log import Log
from worker.memory import Memory
from worker.pool import Pool, Server
from worker.pressure import Pressure
from worker.quota import Quota
from worker.replaying import Replayer
from worker.rescuer import Rescuer
from worker.shutdown import Ending, listen
from worker.slot import Tools
from worker.spooling import TROUBLE, Spooling, Teller
from worker.watcher import Limits, Watcher

LAST_TELLING_S = 10.0
LAST_LOOK_S = 1.0  # a store that takes nothing keeps no worker from its end


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What `worker start` was told."""

    db: str
    endpoints: tuple[str, ...]
    datasets: frozenset[str] | None = None
    concurrency: int = 64
    until_empty: bool = False
    exit_on_gate: bool = False
    limit: int | None = None
    request_timeout_s: float = 7200.0
    lease_ttl_s: float = 60.0
    grace_s: float = 30.0
    model: str | None = None
    max_body: int = 64 * 2**20
    raw_text: bool | None = None  # separate_reasoning=false: None where the server is known to understand it
    token_ids: bool = True
    stream: bool = False
    preflight: bool = True
    stall_s: float = 300.0  # longest silence within an event stream
    api_key: str | None = None
    min_free_disk: int | None = None  # None: app.model.limits.least_free_disk
    name: str | None = None
    live_progress: bool = False
    spool_dir: Path | None = None  # None: beside the store
    spool_reserve: int = 256 * 2**20
    spool_after_s: float = 5.0  # how long an answer waits for a store that cannot commit
    backup_ms: int | None = BACKUP_OLD_MS  # how long answers may be in no backup before an alarm says so
    webhook: Webhook | None = None  # who is told of alarms
    watch: Limits = field(default_factory=Limits)


async def run_worker(settings: WorkerSettings, log: Log) -> Exit:
    """Work until stopped, or until nothing is left. Raises what only a person can mend."""
    if not library.is_fixed():
        found = ".".join(map(str, library.version()))
        log.warning(
            "sqlite_not_fixed", version=found, advice="SQLite before 3.51.3 can lose committed pages; see doctor"
        )
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(_store(settings, log))
        await refuse_newer(store)
        for name in sorted(settings.datasets or ()):
            await dataset_of(store, name)  # a name that is not there would be waited for without a word
        pool = await stack.enter_async_context(_pool(settings, store))
        quota, memory = Quota(settings.limit), Memory()
        while True:
            ending = Ending(pool.wake)
            with _spooling(settings, store, ending, log) as spooling:
                tools = Tools(store, pool, ending, log, settings.api_key, spooling, quota, memory)
                await _session(settings, tools)
            with suppress(*TROUBLE):  # it is said below
                await tell_end(store, settings.datasets, log)
            if ending.error is not None:
                raise ending.error
            if ending.code is not None:
                if (left_behind := spooling.left_behind()) is not None:
                    raise left_behind
                return ending.code
            log.info("registering_again")


def _store(settings: WorkerSettings, log: Log) -> AbstractAsyncContextManager[Store]:
    """The store, by a connection that waits for a lock no longer than an answer may."""
    busy_timeout_ms = min(BUSY_TIMEOUT_MS, int(settings.spool_after_s * 1000 / 2))
    teller = Teller(log, settings.spool_after_s)
    return open_store(settings.db, patient=True, busy_timeout_ms=busy_timeout_ms, on_trouble=teller)


@contextmanager
def _spooling(settings: WorkerSettings, store: Store, ending: Ending, log: Log) -> Iterator[Spooling]:
    """The spool of one registration, its reserve allocated: without one nothing may be asked."""
    name = uuid.uuid4().hex
    file = open_own(store.place, store.store_id, settings.spool_dir, name, settings.spool_reserve)
    try:
        yield Spooling(store, file, ending, log, settings.spool_after_s)
    finally:
        file.close()


@asynccontextmanager
async def _pool(settings: WorkerSettings, store: Store) -> AsyncIterator[Pool]:
    async with AsyncExitStack() as stack:
        servers = []
        for url in distinct(settings.endpoints):
            endpoint = await stack.enter_async_context(
                connect(
                    url,
                    api_key=settings.api_key,
                    connections=settings.concurrency,
                    timeout_s=settings.request_timeout_s,
                    stall_s=settings.stall_s if settings.stream else settings.request_timeout_s,
                    max_body=settings.max_body,
                    now_ms=store.now_ms,
                )
            )
            servers.append(Server(endpoint, Pressure.open(settings.concurrency)))
        yield Pool(servers, settings.concurrency)


async def _session(settings: WorkerSettings, tools: Tools) -> None:
    """From one registration to its end: a worker that was declared dead drains, and starts again as another."""
    async with _registered(settings, tools) as (worker, flock_works):
        watchers = [_watcher(server, settings, tools) for server in tools.pool.servers]
        replayer = Replayer(tools, worker)
        rescuer = Rescuer(tools, worker, flock_works, replayer)
        disk = Disk.of(tools.store, tools.pool, tools.log, settings.min_free_disk)
        await disk.look()  # before the first claim
        feeder = Feeder(
            tools=tools,
            worker=worker,
            wanted=settings.datasets,
            timeout_s=settings.request_timeout_s,
            until_empty=settings.until_empty,
            fixed_model=settings.model is not None,
            disk=disk,
        )
        gatekeeper = Gatekeeper(tools.store, tools.ending, tools.log, settings.datasets, settings.exit_on_gate)
        herald = Herald(tools.store, settings.webhook, tools.log.listener())
        async with anyio.create_task_group() as background:
            background.start_soon(listen, tools.ending, settings.grace_s, tools.log)
            background.start_soon(beat, tools.store, worker, settings.lease_ttl_s, tools.ending, tools.log)
            background.start_soon(replayer.run)
            background.start_soon(obey, tools.store, worker, tools.ending, tools.log)
            background.start_soon(rescuer.run)
            background.start_soon(gatekeeper.run)
            look = (tools.store, f"worker {worker}", _not_evaluated(tools.log), settings.backup_ms)
            background.start_soon(keep_evaluating, *look)
            background.start_soon(herald.run)
            background.start_soon(tell_health, tools.store, worker, tools.pool)
            background.start_soon(disk.run)
            background.start_soon(show, tools.store, settings.live_progress, tools.log)
            for watcher in watchers:
                background.start_soon(watcher.run)
            await _work(feeder, tools)
            if not tools.ending.given_up:
                # nobody may look after us, and what is over would stand for ever
                await look_once(*look, hold_s=LAST_LOOK_S)
            await _tell_the_last(herald, tools)
            background.cancel_scope.cancel()
        with suppress(*TROUBLE, OSError):  # what waits still is said at the end
            await replayer.finish()  # what came last may find the store well again
            await gatekeeper.look()  # a run that ends with a hold says why


def _not_evaluated(log: Log) -> Callable[[str], None]:
    return lambda reason: log.warning("not_evaluated", reason=reason)


async def _work(feeder: Feeder, tools: Tools) -> None:
    """No work outlives its heartbeat: slots end, by themselves or given up, before the background does."""
    async with anyio.create_task_group() as work:
        work.start_soon(_give_up_when_told, work.cancel_scope, tools.ending)
        async with anyio.create_task_group() as slots:
            await feeder.run(slots)
        work.cancel_scope.cancel()


async def _tell_the_last(herald: Herald, tools: Tools) -> None:
    """A run that ends with an alarm has sent it, unless it is to end at once or nobody takes it."""
    if not tools.ending.given_up:
        with anyio.move_on_after(LAST_TELLING_S), suppress(*TROUBLE):
            await herald.look()


async def _give_up_when_told(scope: anyio.CancelScope, ending: Ending) -> None:
    await ending.released()
    scope.cancel()


def _watcher(server: Server, settings: WorkerSettings, tools: Tools) -> Watcher:
    return Watcher(
        server=server,
        pool=tools.pool,
        store=tools.store,
        ending=tools.ending,
        log=tools.log,
        wanted_model=settings.model,
        raw_text=settings.raw_text,
        token_ids=settings.token_ids,
        stream=settings.stream,
        preflight=settings.preflight,
        wanted=settings.datasets,
        limits=settings.watch,
    )


@asynccontextmanager
async def _registered(settings: WorkerSettings, tools: Tools) -> AsyncIterator[tuple[WorkerId, bool]]:
    """The worker's row and lock. The lock is taken before the row exists, so that nobody takes us for dead."""
    identity = tools.spooling.uuid
    lock = locks.take(tools.store.place.workers, identity)
    gone = True  # nothing in the store speaks of us
    try:
        flock_works = await anyio.to_thread.run_sync(locks.conflicts, lock)
        worker = await tools.store.write(register, _registration(settings, identity))
        gone = False
        tools.log.info("worker_started", worker=worker, store=tools.store.place.shown)
        try:
            yield worker, flock_works
        finally:
            with anyio.CancelScope(shield=True):
                gone = await _leave(worker, tools)
    finally:
        tools.spooling.file.close()  # before the lock: whoever finds us gone finds what we left
        if gone:
            lock.free()
        else:
            lock.let_go()


async def _leave(worker: WorkerId, tools: Tools) -> bool:
    """Give back all leases, unless answers wait: their jobs must not be offered before the next worker brings them in.

    False where the store still takes us for a worker. The next one finds our lock free, and takes over what is left.
    """
    if tools.spooling.file.waiting:
        return False
    try:
        await tools.store.write(leave, Leave(worker, "stopped"), hold_s=tools.spooling.hold_s)
    except TROUBLE as error:
        tools.spooling.unclean = error
        return False
    return True


def _registration(settings: WorkerSettings, identity: str) -> Registration:
    return Registration(
        uuid=identity,
        name=settings.name or f"{socket.gethostname()}-{os.getpid()}",
        host=socket.gethostname(),
        pid=os.getpid(),
        boot_id=_boot_id(),
        version=version("thinkledger"),
        slots=settings.concurrency,
        ttl_ms=int(settings.lease_ttl_s * 1000),
    )


def _boot_id() -> str:
    """Which start of the machine this is; empty where the system does not tell."""
    file = Path("/proc/sys/kernel/random/boot_id")
    return file.read_text().strip() if file.exists() else ""
