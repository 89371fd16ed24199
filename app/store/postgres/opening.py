"""Opening a store on PostgreSQL: the schema made or looked at, the writer and the reader ready."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from sqlalchemy import Connection, insert, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.model.errors import IntegrityFailure, NotFound, UsageError
from app.store import schema
from app.store.address import Address
from app.store.faults import as_error, classify
from app.store.place import Place
from app.store.postgres.clock import ServerClock
from app.store.postgres.counting import LOCKS, MIGRATING, SILENT
from app.store.postgres.engines import reading_engine, writing_engine
from app.store.postgres.writer import ServerWriter
from app.store.tables import META

OLDEST = 14
_WRITTEN_HERE = text("SELECT written_by = xmin::text::BIGINT FROM gate")


@dataclass(frozen=True, slots=True)
class Opened:
    """What an open store is made of."""

    store_id: str
    epoch: int
    now_ms: Callable[[], int]
    writer: ServerWriter
    reader: AsyncEngine

    async def settle(self, connection: AsyncConnection) -> None:
        """Begin a snapshot at a moment when no writer is half way, so that its number says all that is in it.

        Another connection keeps the writers out for that moment, so that they do not wait until the snapshot's end.
        """
        async with self.reader.connect() as keeper:
            await keeper.exec_driver_sql("SET LOCAL lock_timeout = '30s'")
            await keeper.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{SILENT}'")
            await keeper.exec_driver_sql("LOCK TABLE gate IN SHARE MODE")
            await connection.exec_driver_sql("SELECT set_config('thinkledger.settled', '1', true)")


@asynccontextmanager
async def open_server(
    place: Place, *, create: bool, busy_timeout_ms: int, now_ms: Callable[[], int] | None, **options: Any
) -> AsyncIterator[Opened]:
    """Open the store in a database; with `create`, an empty one is made in a database without tables.

    Without `now_ms` the clock is the server's.
    """
    assert place.server is not None
    place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    clock = ServerClock()
    writing, reading = writing_engine(place.server), reading_engine(place.server)
    try:
        try:
            with anyio.CancelScope(shield=True):
                store_id, epoch, server_ms = await _prepare(place.server, writing, now_ms or clock, create=create)
        except DBAPIError as error:
            raise as_error(classify(error), error) from error
        clock.tell(server_ms)
        now = now_ms or clock
        writer = ServerWriter(writing, now, clock, busy_timeout_ms, **options)
        yield Opened(store_id, epoch, now, writer, reading)
    finally:
        with anyio.CancelScope(shield=True):
            await reading.dispose()
            await writing.dispose()


async def _prepare(
    address: Address, writing: AsyncEngine, now_ms: Callable[[], int], *, create: bool
) -> tuple[str, int, int]:
    """The store's id and epoch, and the server's clock. A store that has our schema is only read."""
    async with writing.connect() as connection:
        if not await connection.run_sync(schema.is_ours):
            await connection.rollback()
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCKS}, {MIGRATING})"))
            await connection.run_sync(_make_or_check, address, now_ms(), create)
            await connection.commit()
        if not (await connection.execute(_WRITTEN_HERE)).scalar_one():
            raise IntegrityFailure(
                f"{address.shown} was made of a dump, whose leases and transaction numbers mean nothing here. "
                "Make it a store again with `SELECT adopt_dump()` in psql, while no worker runs on it."
            )
        row = (await connection.execute(select(META.c.store_id, META.c.epoch))).one()
        server_ms = await connection.execute(
            text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)")
        )
        return str(row.store_id), int(row.epoch), int(server_ms.scalar_one())


def _make_or_check(connection: Connection, address: Address, now_ms: int, create: bool) -> None:
    """Under a lock of its own: of several processes that start at once one makes the schema and the others find it."""
    refuse_old(connection, address.shown)
    if schema.present(connection) is None and not create:
        raise NotFound(f"There is no store in {address.shown}. `thinkledger import NAME FILE` makes one.")
    if schema.ensure(connection):
        connection.execute(insert(META).values(id=1, store_id=uuid.uuid4().hex, created_ms=now_ms))


def refuse_old(connection: Connection, shown: str) -> None:
    """Refuse a server that lacks what the store is made with."""
    (version,) = connection.exec_driver_sql("SELECT current_setting('server_version_num')::int / 10000").one()
    if version < OLDEST:
        raise UsageError(f"{shown} is PostgreSQL {version}; the store needs {OLDEST} or newer.")
