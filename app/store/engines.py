"""Two engines on one file: a writing one with a single connection, and a reading one that cannot write."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import StaticPool

from app.store import library
from app.store.faults import Fault, classify
from app.store.place import APPLICATION_ID, Place

BUSY_TIMEOUT_MS = 30_000
_CLOSE_LOOKS_MS = 53  # of one wait for the lock: SQLite's first six looks
WAL_LIMIT = 64 * 2**20

_WRITER_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",  # affordable because answers are committed in groups
    "PRAGMA foreign_keys=ON",
    "PRAGMA mmap_size=0",  # a truncated file would be a SIGBUS instead of an error
    f"PRAGMA journal_size_limit={WAL_LIMIT}",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA secure_delete=FAST",
    "PRAGMA cache_size=-16384",
)
_READER_PRAGMAS = (
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    "PRAGMA query_only=ON",
    "PRAGMA mmap_size=0",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cache_size=-16384",
)


# What SQLite wants while tables are made anew (sqlite.org/lang_altertable.html, 7): a table that is dropped takes no
# rows of others along, and one that is renamed is not looked for in views that have lost it for a moment.
_UPGRADE_PRAGMAS = ("PRAGMA foreign_keys=OFF", "PRAGMA legacy_alter_table=ON")


def writing_engine(place: Place, busy_timeout_ms: int = BUSY_TIMEOUT_MS, *, upgrades: bool = False) -> Engine:
    """One connection; every transaction takes the write lock at once, so that none is lost to a late upgrade.

    It is used by one thread at a time, and not always by the same.
    """
    engine = create_engine(_url(place, "sqlite"), poolclass=StaticPool, connect_args={"check_same_thread": False})
    patience = f"PRAGMA busy_timeout={busy_timeout_ms}"
    more = [f"PRAGMA wal_autocheckpoint={_autocheckpoint()}", *(_UPGRADE_PRAGMAS if upgrades else ())]
    pragmas = (patience, *_WRITER_PRAGMAS, *more, f"PRAGMA busy_timeout={_CLOSE_LOOKS_MS}")
    _configure(engine, pragmas, partial(_begin_writing, patience_s=busy_timeout_ms / 1000))
    return engine


def _begin_writing(connection: Connection, patience_s: float) -> None:
    """Take the write lock, or raise when it could not be had for so long.

    SQLite looks for the lock after 1, 2, 5, 10, 15 and 20 ms, and later every 100 ms only. Beside three busy writers
    some wait then took more than 2.5 s in every fourth minute. So it is asked for short waits, again and again.
    """
    end_s = time.monotonic() + patience_s
    while True:
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        except DBAPIError as error:
            if classify(error) is not Fault.BUSY or time.monotonic() >= end_s:
                raise
        else:
            return


def reading_engine(place: Place) -> AsyncEngine:
    """Up to eight connections; each transaction is one snapshot and takes no lock that a writer would wait for."""
    engine = create_async_engine(_url(place, "sqlite+aiosqlite"), pool_size=2, max_overflow=6)
    _configure(engine.sync_engine, _READER_PRAGMAS, _begin_reading)
    return engine


def looking_engine(place: Place) -> Engine:
    """The same for one thread at a time: a whole snapshot is read there, without a way between threads a statement."""
    engine = create_engine(
        _url(place, "sqlite"), pool_size=4, max_overflow=4, connect_args={"check_same_thread": False}
    )
    _configure(engine, _READER_PRAGMAS, _begin_reading)
    return engine


def _begin_reading(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _url(place: Place, driver: str) -> URL:
    """Made of parts: in a URL that is parsed, a question mark in the file's name would end it."""
    return URL.create(driver, database=str(place.path))


def _autocheckpoint() -> int:
    """Pages after which SQLite checkpoints by itself: never where its WAL-reset bug is not fixed."""
    return 1000 if library.is_fixed() else 0


def _configure(engine: Engine, pragmas: tuple[str, ...], begin: Callable[[Connection], object]) -> None:
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver's own BEGIN is DEFERRED and loses updates; ours is below
        cursor = connection.cursor()
        _mark_as_ours(cursor)
        for pragma in pragmas:
            cursor.execute(pragma)
        cursor.close()

    def begun(connection: Connection) -> None:
        begin(connection)

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)


def _mark_as_ours(cursor: Any) -> None:
    """Write our id into a new file before WAL mode, so that it stands in the file's header from the first byte on."""
    cursor.execute("PRAGMA page_count")
    if cursor.fetchone()[0] == 0:
        cursor.execute(f"PRAGMA application_id={APPLICATION_ID}")
