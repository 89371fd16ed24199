"""Two engines on one file: a writing one with a single connection, and a reading one that cannot write."""

from typing import Any

from sqlalchemy import URL, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import StaticPool

from app.store import library
from app.store.place import APPLICATION_ID, Place

BUSY_TIMEOUT_MS = 30_000
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


def writing_engine(place: Place, busy_timeout_ms: int = BUSY_TIMEOUT_MS, *, upgrades: bool = False) -> AsyncEngine:
    """One connection; every transaction takes the write lock at once, so that none is lost to a late upgrade."""
    engine = create_async_engine(_url(place), poolclass=StaticPool)
    patience = f"PRAGMA busy_timeout={busy_timeout_ms}"
    more = [f"PRAGMA wal_autocheckpoint={_autocheckpoint()}", *(_UPGRADE_PRAGMAS if upgrades else ())]
    _configure(engine, (patience, *_WRITER_PRAGMAS, *more), "BEGIN IMMEDIATE")
    return engine


def reading_engine(place: Place) -> AsyncEngine:
    """Up to eight connections; each transaction is one snapshot and takes no lock that a writer would wait for."""
    engine = create_async_engine(_url(place), pool_size=2, max_overflow=6)
    _configure(engine, _READER_PRAGMAS, "BEGIN")
    return engine


def _url(place: Place) -> URL:
    """Made of parts: in a URL that is parsed, a question mark in the file's name would end it."""
    return URL.create("sqlite+aiosqlite", database=str(place.path))


def _autocheckpoint() -> int:
    """Pages after which SQLite checkpoints by itself: never where its WAL-reset bug is not fixed."""
    return 1000 if library.is_fixed() else 0


def _configure(engine: AsyncEngine, pragmas: tuple[str, ...], begin: str) -> None:
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver's own BEGIN is DEFERRED and loses updates; ours is below
        cursor = connection.cursor()
        _mark_as_ours(cursor)
        for pragma in pragmas:
            cursor.execute(pragma)
        cursor.close()

    def begun(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine.sync_engine, "connect", connected)
    event.listen(engine.sync_engine, "begin", begun)


def _mark_as_ours(cursor: Any) -> None:
    """Write our id into a new file before WAL mode, so that it stands in the file's header from the first byte on."""
    cursor.execute("PRAGMA page_count")
    if cursor.fetchone()[0] == 0:
        cursor.execute(f"PRAGMA application_id={APPLICATION_ID}")
