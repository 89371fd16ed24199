"""The writer beside another process that holds the lock, and on a file that is damaged."""

from pathlib import Path

import anyio
import pytest
from sqlalchemy import func, select

from app.model.errors import IntegrityFailure, StoreReplaced, ThinkledgerError, Unavailable
from app.store.faults import Fault, classify
from app.store.store import Store, open_store
from app.store.tables import EVENT
from tests.integration.store import raw
from tests.integration.store.kit import holder, in_store, make, note, run, says, tell
from tests.support.kinds import db, kind

HELD = {"sqlite": "another process holds its lock", "postgresql": "The store is busy, or its PostgreSQL server is"}


def test_an_impatient_writer_says_that_the_store_is_busy(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        with holder(tmp_path / "t.db") as other:
            assert says(other) == "held"
            with pytest.raises(Unavailable, match=HELD[kind()]):
                await store.write(note, "too early")
            tell(other)
            assert says(other) == "released"
        await store.write(note, "in time")

    in_store(tmp_path / "t.db", work, busy_timeout_ms=20)
    assert raw.query(tmp_path / "t.db", "SELECT kind FROM event") == [("in time",)]


def test_a_patient_writer_holds_its_group_until_the_lock_is_free(tmp_path: Path) -> None:
    async def work() -> None:
        troubled = anyio.Event()
        said: list[ThinkledgerError | None] = []

        def on_trouble(error: ThinkledgerError | None) -> None:
            said.append(error)
            troubled.set()

        options = {"create": True, "patient": True, "busy_timeout_ms": 20}
        async with open_store(db(tmp_path / "t.db"), **options, on_trouble=on_trouble) as store:
            with holder(tmp_path / "t.db") as other:
                assert says(other) == "held"
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(store.write, note, "held")
                    await troubled.wait()
                    tell(other)
        assert isinstance(said[0], Unavailable)
        assert said[-1] is None  # it is over

    run(work)
    assert raw.query(tmp_path / "t.db", "SELECT kind FROM event") == [("held",)]


def test_a_held_write_is_given_back_in_time_and_not_committed_later(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        with holder(tmp_path / "t.db") as other:
            assert says(other) == "held"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(store.write, note, "as long as it takes")
                with pytest.raises(Unavailable, match=HELD[kind()]):
                    await store.write(note, "not so long", hold_s=0.1)
                tell(other)
        await store.write(note, "later", hold_s=0.0)

    in_store(tmp_path / "t.db", work, patient=True, busy_timeout_ms=20)
    kinds = raw.query(tmp_path / "t.db", "SELECT kind FROM event ORDER BY id")
    assert kinds == [("as long as it takes",), ("later",)]


def test_a_patient_store_that_is_closed_in_trouble_ends_and_tells_who_waits(tmp_path: Path) -> None:
    told: list[str] = []

    async def one(store: Store, kind: str) -> None:
        try:
            await store.write(note, kind)
        except Unavailable:
            told.append(kind)

    async def work() -> None:
        with holder(tmp_path / "t.db") as other:
            assert says(other) == "held"
            with anyio.fail_after(30):
                async with anyio.create_task_group() as callers:
                    async with open_store(db(tmp_path / "t.db"), patient=True, busy_timeout_ms=20) as store:
                        for number in range(600):
                            callers.start_soon(one, store, f"k{number}")
                        while len(store._writer._queue) < 300:
                            await anyio.lowlevel.checkpoint()
            tell(other)

    make(tmp_path / "t.db")
    run(work)
    assert len(told) == 600


@pytest.mark.on_files  # a database is not moved under an open connection
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_nothing_is_written_to_a_store_that_is_no_longer_at_its_place(tmp_path: Path, how: str) -> None:
    """SQLite itself would go on: in WAL mode it commits to a file that nobody can find any more."""
    path, aside = tmp_path / "t.db", tmp_path / "aside.db"

    async def work(store: Store) -> None:
        await store.write(note, "before")
        path.rename(aside)
        if how == "replaced":
            path.touch()
        for _ in range(2):
            with pytest.raises(StoreReplaced, match="was replaced or removed"):
                await store.write(note, "gone")
        path.unlink(missing_ok=True)
        aside.rename(path)
        with pytest.raises(StoreReplaced):
            await store.write(note, "still gone")  # the writer has ended

    with pytest.raises(StoreReplaced):
        in_store(path, work)
    in_store(path, lambda store: store.write(note, "back"))
    assert raw.query(path, "SELECT kind FROM event ORDER BY id") == [("before",), ("back",)]


def test_a_store_whose_lock_is_held_can_still_be_opened_and_read(tmp_path: Path) -> None:
    make(tmp_path / "t.db")
    with holder(tmp_path / "t.db") as other:
        assert says(other) == "held"

        async def look() -> int:
            async with open_store(db(tmp_path / "t.db")) as store:
                async with store.snapshot() as reads:
                    return int(await reads.value(select(func.count()).select_from(EVENT)))

        assert run(look) == 0


@pytest.mark.on_files  # of a server that is told by SQLSTATE: tests/integration/postgres/test_sqlstates.py
@pytest.mark.parametrize("patient", [True, False])
def test_a_damaged_file_is_told_to_every_caller_and_ends_a_patient_writer(tmp_path: Path, patient: bool) -> None:
    path = tmp_path / "t.db"
    make(path)
    raw.spoil(path, ["event", "event_time"])
    told: list[object] = []

    async def one(store: Store) -> None:
        try:
            await store.write(note, "x")
        except IntegrityFailure as error:
            told.append(error)

    async def work(store: Store) -> None:
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for _ in range(600):
                    tasks.start_soon(one, store)
            with anyio.fail_after(30):
                await one(store)  # asked after the end

    if patient:
        with pytest.raises(IntegrityFailure, match="damaged"):
            in_store(path, work, patient=True)
    else:  # a dashboard goes on and says what is wrong
        in_store(path, work, patient=False)
    assert len(told) == 601


@pytest.mark.on_files  # the same
def test_a_damaged_table_is_told_to_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    make(path)
    raw.spoil(path, ["meta"])
    with pytest.raises(IntegrityFailure):
        make(path)


@pytest.mark.on_files  # its words; those of a server are in test_sqlstates.py
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("SQLITE_BUSY_SNAPSHOT", Fault.BUSY),
        ("SQLITE_LOCKED_SHAREDCACHE", Fault.BUSY),
        ("SQLITE_FULL", Fault.FULL),
        ("SQLITE_IOERR_WRITE", Fault.IO),
        ("SQLITE_READONLY_DBMOVED", Fault.IO),
        ("SQLITE_CORRUPT_INDEX", Fault.DAMAGED),
        ("SQLITE_NOTADB", Fault.DAMAGED),
        ("SQLITE_CONSTRAINT_UNIQUE", Fault.ROW),
        ("SQLITE_MISMATCH", Fault.ROW),
    ],
)
def test_what_sqlite_says_decides_what_is_done(name: str, fault: Fault) -> None:
    from sqlalchemy.exc import OperationalError

    error = raw.sqlite3.OperationalError("words")
    error.sqlite_errorname = name
    assert classify(OperationalError("INSERT", None, error)) is fault
