"""Checkpoints where SQLite's own are not safe: explicit ones, and only TRUNCATE, which holds the write lock.

The WAL-reset bug (see library.py) needs a checkpoint beside a writer of another connection. With a fixed SQLite the
automatic checkpoints are on and nothing here is called.
"""

from anyio import to_thread
from sqlalchemy import Engine

from app.store.place import Place

DUE_BYTES = 16 * 2**20


async def checkpoint(engine: Engine, place: Place) -> None:
    """Move a large WAL into the file. Whoever holds a lock is not waited for: the next group tries again."""
    if not place.wal.exists() or place.wal.stat().st_size < DUE_BYTES:
        return
    await to_thread.run_sync(_truncate, engine)


def _truncate(engine: Engine) -> None:
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        ((patience_ms,),) = driver.execute("PRAGMA busy_timeout").fetchall()
        driver.execute("PRAGMA busy_timeout=0")
        try:
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            driver.execute(f"PRAGMA busy_timeout={patience_ms}")
