"""A store that is open: its writer, its readers, its clock."""

import math
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from sqlalchemy import Connection, Engine, insert, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.model.errors import ThinkledgerError
from app.store import address, library, schema
from app.store import place as places
from app.store.checkpoint import checkpoint
from app.store.damage import Damage
from app.store.engines import BUSY_TIMEOUT_MS, looking_engine, reading_engine, writing_engine
from app.store.faults import Fault, as_error, classify
from app.store.place import Place
from app.store.tables import META
from app.store.transaction import Reads, at_once
from app.store.watch import NoWatch, Watch
from app.store.writer import Operation, Writer

Item = TypeVar("Item")
Result = TypeVar("Result")

_DATABASE_SIZE = text("SELECT pg_database_size(current_database())")
_MAKING_LOOKS_S = 0.02
_WAL_INDEX_BYTES = 32 * 2**10  # what SQLite allocates of it at a time


def wall_ms() -> int:
    """Milliseconds since 1970 by the wall clock; for display and deadlines, never for liveness."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Store:
    """An open store. `write` for changes, `snapshot` for reading."""

    place: Place
    store_id: str
    epoch: int
    now_ms: Callable[[], int]
    _writer: Writer
    _reader: AsyncEngine
    _looker: Engine | None  # None: a server has no ways between threads to be saved
    _watch: Watch
    damage: Damage = field(default_factory=Damage)  # that was met while reading
    _settle: Callable[[AsyncConnection], Awaitable[None]] | None = None  # how a snapshot becomes one, if it is none

    async def write(
        self, operation: Operation[Item, Result], item: Item, *, first: bool = False, hold_s: float = math.inf
    ) -> Result:
        """Run `operation` on `item` in the writer's next group; returns after its commit.

        A patient store holds it while nothing can be committed, for `hold_s` at most; then the trouble is raised.
        """
        return await self._writer.do(operation, item, first=first, hold_s=hold_s)

    @asynccontextmanager
    async def snapshot(self, *, settled: bool = False) -> AsyncIterator[Reads]:
        """One consistent view of what is committed. Keep it short: an open one pins the WAL.

        `settled`: the store's number says all that is in it. Always so on SQLite; elsewhere writers are waited for.
        """
        self._watch.check()  # a new connection would be to the other file, and at its end bring our WAL into that
        with self._translated():
            async with self._reader.connect() as connection:
                if settled and self._settle is not None:
                    await self._settle(connection)
                yield Reads(connection)

    async def read(self, work: Callable[[Reads], Awaitable[Result]]) -> Result:
        """What `work` makes of one consistent view, in a thread of its own. It may await nothing but its reads.

        For pages, which ask some twenty statements each: the way there and back for each of them took longer than the
        statements, and on a busy machine each is a wait for the processor.
        """
        if self._looker is None:
            async with self.snapshot() as reads:
                return await work(reads)
        self._watch.check()
        return await to_thread.run_sync(self._read, self._looker, work)

    def _read(self, looker: Engine, work: Callable[[Reads], Awaitable[Result]]) -> Result:
        with self._translated(), looker.connect() as connection:
            return at_once(work(Reads(connection)))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of the database as ours; damage that was met is remembered."""
        try:
            yield
        except DBAPIError as error:
            fault = classify(error)
            if fault is Fault.DAMAGED:
                self.damage.saw(str(error.orig))
            raise as_error(fault, error) from error

    def check_files(self) -> None:
        """Raise where the file that is open is no longer the one at its path. Every write checks this by itself."""
        self._watch.check()

    async def size(self, reads: Reads) -> int:
        """Bytes of the store, of SQLite's WAL too."""
        return self.place.size() if self.place.server is None else int(await reads.value(_DATABASE_SIZE))

    async def seq(self) -> int:
        """The number of the newest transaction that changed rows."""
        async with self.snapshot() as reads:
            return int(await reads.value(select(META.c.seq)))


@asynccontextmanager
async def open_store(
    db: str,
    *,
    create: bool = False,
    patient: bool = False,
    busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    now_ms: Callable[[], int] = wall_ms,
    on_trouble: Callable[[ThinkledgerError | None], None] = lambda _error: None,
) -> AsyncIterator[Store]:
    """Open the store that `db` names; with `create`, an empty one is made where there is none.

    Raises, and creates nothing, for a file that is not ours, another schema, a folder that cannot be written and a
    network file system. Everything asked of the writer is committed before this ends, unless the store is in trouble.
    """
    place = places.locate(db)
    if place.server is not None:
        patience: dict[str, Any] = {"patient": patient, "busy_timeout_ms": busy_timeout_ms, "on_trouble": on_trouble}
        async with _on_server(place, create=create, now_ms=None if now_ms is wall_ms else now_ms, **patience) as store:
            yield store
        return
    places.check(place, create=create)
    writing = writing_engine(place, busy_timeout_ms)
    reading, looking = reading_engine(place), looking_engine(place)
    try:
        if not place.path.exists():
            os.close(os.open(place.path, os.O_CREAT | os.O_RDWR, 0o600))
        places.opened(place)
        try:
            store_id, epoch = await _prepare(place, reading, writing, now_ms, busy_timeout_ms / 1000)
            between = None if library.is_fixed() else partial(checkpoint, writing, place)
            watch = Watch(place)
            writer = Writer(writing, now_ms, patient=patient, on_trouble=on_trouble, guard=watch.check, between=between)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(writer.run)
                try:
                    yield Store(place, store_id, epoch, now_ms, writer, reading, looking, watch)
                finally:
                    writer.close()
        finally:
            places.closed(place)
    finally:
        with anyio.CancelScope(shield=True):
            await reading.dispose()
            await to_thread.run_sync(looking.dispose)
            await to_thread.run_sync(writing.dispose)


@asynccontextmanager
async def _on_server(place: Place, **options: Any) -> AsyncIterator[Store]:
    """The same on PostgreSQL, whose driver is imported here and nowhere else."""
    address.need_driver()
    from app.store.postgres.opening import open_server

    async with open_server(place, **options) as opened, anyio.create_task_group() as tasks:
        tasks.start_soon(opened.writer.run)
        made = (place, opened.store_id, opened.epoch, opened.now_ms, opened.writer, opened.reader, None, NoWatch(place))
        try:
            yield Store(*made, _settle=opened.settle)
        finally:
            opened.writer.close()


async def _prepare(
    place: Place, reading: AsyncEngine, writing: Engine, now_ms: Callable[[], int], patience_s: float
) -> tuple[str, int]:
    """The store's id and epoch. A store that has our schema is only read, so that a busy one can still be looked at."""
    end_s, found = time.monotonic() + patience_s, None
    while found is None:
        with anyio.CancelScope(shield=True):
            try:
                found = await _look(reading) or await to_thread.run_sync(_make, writing, now_ms())
            except DBAPIError as error:
                fault = classify(error)
                # Others that make the same store now keep us out; SQLite does not wait where two change to WAL mode.
                if fault is not Fault.BUSY or time.monotonic() >= end_s:
                    raise as_error(_full_or(fault, place), error) from error
        if found is None:
            await anyio.sleep(_MAKING_LOOKS_S)
    return found


def _full_or(fault: Fault, place: Place) -> Fault:
    """SQLite's plain "disk I/O error" is also what it says when a full disk has no room for the index of the WAL."""
    no_room = fault is Fault.IO and shutil.disk_usage(place.path.parent).free < _WAL_INDEX_BYTES
    return Fault.FULL if no_room else fault


async def _look(reading: AsyncEngine) -> tuple[str, int] | None:
    async with reading.connect() as connection:
        return await connection.run_sync(_identity) if await connection.run_sync(schema.is_ours) else None


def _make(writing: Engine, now_ms: int) -> tuple[str, int]:
    with writing.begin() as connection:
        _make_or_check(connection, now_ms)
        return _identity(connection)


def _identity(connection: Connection) -> tuple[str, int]:
    row = connection.execute(select(META.c.store_id, META.c.epoch)).one()
    return str(row.store_id), int(row.epoch)


def _make_or_check(connection: Connection, now_ms: int) -> None:
    """Under the write lock: make the schema on an empty store, or refuse another one than ours."""
    if schema.ensure(connection):
        connection.execute(insert(META).values(id=1, store_id=uuid.uuid4().hex, created_ms=now_ms))
