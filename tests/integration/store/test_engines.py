"""One SQLite library, and connections that are set up as the store relies on."""

import sys
import threading
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from sqlalchemy import insert, select, text

from app.model.errors import ThinkledgerError
from app.store import library
from app.store.store import Store, open_store
from app.store.tables import EVENT
from app.store.transaction import Reads
from tests.integration.store import raw
from tests.integration.store.kit import in_store, make, note, run

WRITER = {
    "busy_timeout": 53, "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "mmap_size": 0,
    "journal_size_limit": 64 * 2**20, "temp_store": 2, "trusted_schema": 0, "secure_delete": 2, "query_only": 0,
}  # fmt: skip
READER = {"busy_timeout": 30_000, "query_only": 1, "mmap_size": 0, "temp_store": 2, "trusted_schema": 0}


def test_one_sqlite_library_is_loaded() -> None:
    import aiosqlite.core

    assert aiosqlite.core.sqlite3 is raw.sqlite3 is sys.modules["sqlite3"]
    assert sys.modules["sqlite3.dbapi2"].sqlite_version == raw.sqlite3.sqlite_version
    assert library.version() == tuple(int(part) for part in raw.sqlite3.sqlite_version.split("."))


def test_where_there_is_a_wheel_the_library_is_free_of_the_wal_reset_bug() -> None:
    newer = pytest.importorskip("pysqlite3", reason="no wheel for this platform")
    assert sys.modules["sqlite3"] is newer
    assert library.is_fixed()
    assert library.version() >= (3, 51, 3)
    loaded = {name for name in sys.modules if name in ("_sqlite3", "pysqlite3._sqlite3")}
    assert loaded == {"pysqlite3._sqlite3"}


async def _pragmas(reads: Reads, names: dict[str, object]) -> dict[str, object]:
    return {name: await reads.value(text(f"PRAGMA {name}")) for name in names}


def test_the_writer_is_set_up_to_lose_nothing(tmp_path: Path) -> None:
    async def look(store: Store) -> None:
        assert await store.write(lambda tx, _: _one(_pragmas(tx, WRITER)), None) == WRITER
        checkpoints = await store.write(lambda tx, _: _one(_pragmas(tx, {"wal_autocheckpoint": 0})), None)
        assert (checkpoints["wal_autocheckpoint"] > 0) is library.is_fixed()

    in_store(tmp_path / "t.db", look)


async def _one(work: object) -> list[object]:
    return [await work]  # type: ignore[misc]


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    async def look(store: Store) -> None:
        async with store.snapshot() as reads:
            assert await _pragmas(reads, READER) == READER
        for statement in (insert(EVENT).values(at_ms=1, kind="x"), text("DELETE FROM meta"), text("CREATE TABLE t(a)")):
            with pytest.raises(ThinkledgerError, match="readonly"):
                async with store.snapshot() as reads:
                    await reads._connection.execute(statement)

    in_store(tmp_path / "t.db", look)
    assert raw.query(tmp_path / "t.db", "SELECT count(*) FROM meta") == [(1,)]


def test_a_snapshot_does_not_see_what_is_committed_after_it_began(tmp_path: Path) -> None:
    async def look(store: Store) -> None:
        counted = select(EVENT.c.id)
        async with store.snapshot() as reads:
            assert await reads.rows(counted) == []
            await store.write(note, "later")
            assert await reads.rows(counted) == []
        async with store.snapshot() as reads:
            assert len(await reads.rows(counted)) == 1

    in_store(tmp_path / "t.db", look)


def test_a_reader_holds_up_no_writer_and_a_writer_no_reader(tmp_path: Path) -> None:
    async def look(store: Store) -> None:
        entered, leave = threading.Event(), threading.Event()

        async def slow(_tx: object, items: list[object]) -> list[object]:
            entered.set()
            leave.wait()
            return items

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.write, slow, None)
            await to_thread.run_sync(entered.wait)
            assert await store.seq() == 0  # while the writer holds its lock
            leave.set()

    in_store(tmp_path / "t.db", look)


@pytest.mark.parametrize("in_which", ["the connecting", "the query", "the body"])
def test_readers_that_are_cancelled_leave_no_snapshot_open(tmp_path: Path, in_which: str) -> None:
    """An open one would pin the WAL, and eight of them would starve every other reader."""
    long_query = text(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT max(i) FROM n, meta"
    )

    async def reader(store: Store, begun: anyio.Event) -> None:
        if in_which == "the connecting":
            begun.set()
        async with store.snapshot() as reads:
            await reads.value(select(EVENT.c.id))
            begun.set()
            await (reads.value(long_query) if in_which == "the query" else anyio.sleep_forever())

    async def look(store: Store) -> None:
        for _ in range(24):
            begun = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reader, store, begun)
                await begun.wait()
                tasks.cancel_scope.cancel()
        await store.write(note, "x")
        assert await store.seq() == 0
        busy, _, _ = raw.query(store.place.path, "PRAGMA wal_checkpoint(TRUNCATE)")[0]
        assert busy == 0

    in_store(tmp_path / "t.db", look)


def test_a_store_that_is_opened_and_closed_many_times_leaves_no_connection(tmp_path: Path) -> None:
    make(tmp_path / "t.db")

    async def again() -> None:
        for _ in range(10):
            async with open_store(str(tmp_path / "t.db")) as store:
                await store.seq()

    run(again)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.db"]  # the last one to close removes the WAL
