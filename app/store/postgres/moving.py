"""What a copy from or to PostgreSQL does in its own words."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from sqlalchemy import Connection, Table, column, func, select, table, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.expression import TableClause

from app.store.address import Address
from app.store.postgres.counting import LOCKS, MIGRATING, SUMMED
from app.store.postgres.engines import reading_engine
from app.store.postgres.opening import refuse_old
from app.store.tables import METADATA

_COUNTING = ("job", "response", "failure")
_SLOTTED = {one.table for one in SUMMED}


@asynccontextmanager
async def holding(address: Address) -> AsyncIterator[AsyncConnection]:
    """One snapshot, begun when no writer is half way; they wait until its end."""
    engine = reading_engine(address)
    try:
        async with engine.connect() as connection:
            await connection.exec_driver_sql("SET LOCAL lock_timeout = '30s'")
            await connection.exec_driver_sql(
                "SET LOCAL idle_in_transaction_session_timeout = 0"
            )  # the target may be slow
            await connection.exec_driver_sql("LOCK TABLE gate IN SHARE ROW EXCLUSIVE MODE")
            await connection.exec_driver_sql("SELECT set_config('thinkledger.settled', '1', true)")
            yield connection
    finally:
        with anyio.CancelScope(shield=True):
            await engine.dispose()


def only_one(connection: Connection, shown: str) -> None:
    """Nobody else makes the schema at the same time."""
    refuse_old(connection, shown)
    connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCKS}, {MIGRATING})"))


def written_as(read: Table) -> Table | TableClause:
    """What rows of a table are put into: a sum's into its first slot."""
    if read.name not in _SLOTTED:
        return read
    return table(f"{read.name}_slot", *(column(one.name, one.type) for one in read.columns))


def triggers(connection: Connection, word: str) -> None:
    """DISABLE or ENABLE those that count."""
    for name in _COUNTING:
        connection.exec_driver_sql(f"ALTER TABLE {name} {word} TRIGGER USER")


def go_on_behind(connection: Connection, seq: int) -> None:
    """Numbers of transactions here begin behind `seq`, and ids behind those that are there."""
    connection.execute(
        text("UPDATE meta_row SET seq = CAST(:seq AS BIGINT) + 1 - pg_current_xact_id()::text::BIGINT"), {"seq": seq}
    )
    for one in METADATA.sorted_tables:
        if one.name != "meta" and one.autoincrement_column is not None and "id" in one.columns:
            ids = select(func.greatest(func.max(one.c.id), 1), func.max(one.c.id).is_not(None))
            newest, used = connection.execute(ids).one()
            connection.execute(select(func.setval(func.pg_get_serial_sequence(one.name, "id"), newest, used)))
    connection.exec_driver_sql("ANALYZE")
