"""Checkpoints where SQLite's own are not safe: explicit ones, and only TRUNCATE, which holds the write lock.

The WAL-reset bug (see library.py) needs a checkpoint beside a writer of another connection. With a fixed SQLite the
automatic checkpoints are on and nothing here is called.
"""

from sqlalchemy.ext.asyncio import AsyncEngine

from app.store.place import Place

DUE_BYTES = 16 * 2**20


async def checkpoint(engine: AsyncEngine, place: Place) -> None:
    """Move a large WAL into the file. Whoever holds a lock is not waited for: the next group tries again."""
    if not place.wal.exists() or place.wal.stat().st_size < DUE_BYTES:
        return
    async with engine.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        async with driver.execute("PRAGMA busy_timeout") as cursor:
            ((patience_ms,),) = await cursor.fetchall()
        await driver.execute("PRAGMA busy_timeout=0")
        try:
            async with driver.execute("PRAGMA wal_checkpoint(TRUNCATE)") as cursor:
                await cursor.fetchall()
        finally:
            await driver.execute(f"PRAGMA busy_timeout={patience_ms}")
