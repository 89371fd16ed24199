"""Two engines on one database: a writing one with a single connection, and a reading one that cannot write."""

import socket
from typing import Any

import asyncpg
from sqlalchemy import URL
from sqlalchemy.dialects import registry
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.store.address import Address
from app.store.sqlstates import UNREACHABLE

CONNECT_S = 10.0
_DIALECT = "postgresql.thinkledger"

registry.register(_DIALECT, "app.store.postgres.dialect", "Dialect")


def writing_engine(address: Address) -> AsyncEngine:
    """One connection. What a statement sees is what was committed before it, so that guards are looked at anew."""
    return _engine(address, pool_size=1, max_overflow=0, isolation_level="READ COMMITTED")


def reading_engine(address: Address) -> AsyncEngine:
    """Up to eight connections; each transaction is one snapshot and takes no lock that a writer would wait for."""
    known = {"pool_size": 2, "max_overflow": 6, "pool_pre_ping": True}  # a server that was started again is no error
    engine = _engine(address, isolation_level="REPEATABLE READ", **known)
    return engine.execution_options(postgresql_readonly=True)


def _engine(address: Address, **options: Any) -> AsyncEngine:
    """No statement is prepared under a name: in PgBouncer's transaction mode the next one may meet another session."""

    async def connect(**_: Any) -> asyncpg.Connection:
        return await _connect(address, engine)

    unnamed = {"async_creator_fn": connect, "prepared_statement_cache_size": 0, "prepared_statement_name_func": str}
    engine = create_async_engine(URL.create(_DIALECT.replace(".", "+")), connect_args=unnamed, **options)
    return engine


async def _connect(address: Address, engine: AsyncEngine) -> asyncpg.Connection:
    """A connection; what keeps us out becomes an error of the database, as it is at any later moment."""
    try:
        connection = await asyncpg.connect(
            address.dsn,
            timeout=CONNECT_S,
            statement_cache_size=0,
            server_settings={"application_name": "thinkledger"},
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        dbapi: Any = engine.dialect.dbapi
        refused = dbapi.OperationalError(str(error) or type(error).__name__, error)
        refused.sqlstate = getattr(error, "sqlstate", None) or UNREACHABLE
        raise refused from error
    _notice_silence(connection._transport.get_extra_info("socket"))  # noqa: SLF001 - no public way leads to it
    return connection


def _notice_silence(connected: socket.socket) -> None:
    """A server that a cut network keeps from answering is an error soon, not when the kernel gives up, a quarter of an
    hour later.
    """
    if connected.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 30_000)):
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
