"""A store that is moved between a file and a server is the same there, goes on there, and is never half a store."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from app.keeping.copying import Copied
from app.leasing import locks
from app.model.errors import IntegrityFailure, Refused, Unavailable, UsageError
from app.progress.gathering import overview
from app.store import place as places
from app.store.moving import rows
from app.store.moving.ends import held
from app.store.store import open_store
from app.store.tables import JOB, RESPONSE, WORKER
from app.verify.verifying import Told, verify
from tests.integration.moving.kit import add, copied, everything, exported, fill
from tests.integration.store.kit import note
from tests.support.filled import every_kind, filled, thought
from tests.support.postgres import Server, server

pytestmark = pytest.mark.anyio
WAYS = ("to a server", "to a file")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def on_server() -> Server:
    return server()


@pytest.fixture(params=WAYS)
def ways(request: pytest.FixtureRequest, tmp_path: Path, on_server: Server) -> tuple[str, str]:
    """A source that is not there yet, and a target."""
    ends = str(tmp_path / "one.db"), on_server.empty()
    return ends if request.param == WAYS[0] else (ends[1], ends[0])


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that each table takes several."""
    monkeypatch.setattr(rows, "PAGE", 7)
    monkeypatch.setattr(rows, "LONG_PAGE", 3)


async def test_every_column_of_every_table_comes_back_as_it_was(tmp_path: Path, on_server: Server) -> None:
    first, there, back = tmp_path / "one.db", on_server.empty(), tmp_path / "two.db"
    await fill(first)
    before = await everything(first)
    assert [name for name, found in before.items() if not found] == []
    done = await copied(str(first), there)
    assert done.moved.rows == {name: len(found) for name, found in before.items()}
    again = await copied(there, str(back))
    assert _unlike(done, again) == {"counter", "event", "job", "worker"}  # by the leases that ended on the way
    after = await everything(back)
    assert {name for name in before if before[name] != after[name]} == {"counter", "event", "job", "worker"}
    assert after["event"][: len(before["event"])] == before["event"]


def _unlike(one: Copied, other: Copied) -> set[str]:
    return {name for name, columns in one.moved.sha256.items() if columns != other.moved.sha256[name]}


async def test_a_copy_goes_on_as_its_source_would(ways: tuple[str, str], tmp_path: Path) -> None:
    source, target = ways
    async with filled(source) as at:
        await every_kind(at)
    done = await copied(source, target)
    assert done.released == 2
    found, made = [], []
    for end, folder in ((source, tmp_path / "a"), (target, tmp_path / "b")):
        folder.mkdir()
        async with filled(end) as at:
            at.clock.ms += 4_000_000
            at.thinking |= {2: False}
            await at.dataset("later", 3)
            await at.answer_next("d", thought(51), thought(52))
            await at.answer_next("later", thought(53))
            made.append([await exported(at.store, folder, name) for name in ("d", "later")])
            tallies = [one.tally for one in (await overview(at.store)).datasets]
            assert all(tally.adds_up for tally in tallies)
            faults: list[Any] = []
            await verify(at.store, Told(faults.append), full=True)
            assert faults == []
            async with at.store.snapshot() as reads:
                ids = [await reads.rows(select(table.c.id).order_by(table.c.id)) for table in (JOB, RESPONSE, WORKER)]
                found.append(ids)
    assert made[0] == made[1]
    assert found[0] == found[1]


async def test_leases_and_workers_of_the_source_mean_nothing_in_the_copy(ways: tuple[str, str]) -> None:
    source, target = ways
    async with filled(source) as at:
        await at.dataset("d", 3)
        (lease,) = await at.claim(1)
        assert lease.epoch == at.store.epoch
    done = await copied(source, target)
    async with open_store(target) as store:
        async with store.snapshot() as reads:
            states = [row.state for row in await reads.rows(select(JOB.c.state).order_by(JOB.c.id))]
            workers = [row.state for row in await reads.rows(select(WORKER.c.state))]
    assert (states, workers) == (["ready"] * 3, ["dead"])
    assert store.epoch == done.epoch > lease.epoch


async def test_numbers_of_the_copy_are_behind_those_of_its_rows(ways: tuple[str, str]) -> None:
    source, target = ways
    async with filled(source) as at:
        await at.dataset("d", 2)
        await at.answer_next("d", thought(1))
        before = await at.store.seq()
    await copied(source, target)
    async with filled(target) as at:
        assert await at.store.seq() >= before
        await at.answer_next("d", thought(2))
        async with at.store.snapshot() as reads:
            rows_in_order = await reads.rows(select(RESPONSE.c.accepted_seq).order_by(RESPONSE.c.id))
        first, second = [row.accepted_seq for row in rows_in_order]
        assert first <= before < second <= await at.store.seq()


async def test_nobody_writes_to_a_store_that_is_being_copied(ways: tuple[str, str]) -> None:
    source, _ = ways
    async with open_store(source, create=True, busy_timeout_ms=100) as store:
        async with held(places.locate(source)):
            with pytest.raises(Unavailable):
                await store.write(note, "while it is held")
        await store.write(note, "afterwards")


async def test_what_holds_anything_is_no_target(ways: tuple[str, str]) -> None:
    source, target = ways
    for end in ways:
        async with open_store(end, create=True) as store:
            await store.write(note, "mine")
    before = await everything(target)
    with pytest.raises(Refused, match="holds a store already"):
        await copied(source, target)
    with pytest.raises(UsageError, match="cannot be copied to itself"):
        await copied(source, source)
    assert await everything(target) == before


async def test_a_database_of_another_program_is_no_target(tmp_path: Path, on_server: Server) -> None:
    source, target = str(tmp_path / "one.db"), on_server.empty()
    async with open_store(source, create=True):
        pass
    on_server.run("CREATE TABLE theirs (n INT)", database=target.rsplit("/", 1)[1])
    with pytest.raises(Refused, match="tables of something else"):
        await copied(source, target)


class Cut(BaseException):
    """Ends a copy as an interrupt does."""


def cut_at(step: int) -> Callable[[int, int], None]:
    def progress(done: int, _total: int) -> None:
        if done >= step:
            raise Cut

    return progress


async def test_what_was_cut_off_is_no_store_and_goes_on(ways: tuple[str, str], tmp_path: Path) -> None:
    source, target = ways
    await fill(source)
    with pytest.raises(Cut):
        await copied(source, target, cut_at(100))
    with pytest.raises(Refused, match="not whole"):
        async with open_store(target, create=True):
            pass
    async with open_store(str(tmp_path / "other.db"), create=True):
        pass
    with pytest.raises(Refused, match="a part of another store"):
        await copied(str(tmp_path / "other.db"), target)
    assert (await copied(source, target)).moved.resumed


async def test_what_differs_at_the_end_becomes_no_store(ways: tuple[str, str]) -> None:
    source, target = ways
    await fill(source)
    with pytest.raises(Cut):
        await copied(source, target, cut_at(100))
    async with open_store(source) as store:  # work went on there
        await store.write(_run, text("UPDATE dataset SET rank = 7 WHERE name = 'd'"))
    with pytest.raises(IntegrityFailure, match=r"table dataset \(3 rows against 3\) in rank"):
        await copied(source, target)
    with pytest.raises(Refused, match="not whole"):
        async with open_store(target):
            pass


async def _run(tx: Any, statements: Any) -> list[int]:
    return [await tx.run(statement) for statement in statements]


async def test_a_store_that_somebody_works_at_is_not_copied(ways: tuple[str, str]) -> None:
    source, target = ways
    async with open_store(source, create=True) as store:
        await store.write(note, "mine")
    folder = places.locate(source).workers
    lock = locks.take(folder, "a-worker")
    with pytest.raises(Refused, match="1 worker and 0 servers are running"):
        await copied(source, target)
    lock.free()
    await copied(source, target)


async def test_a_worker_of_another_host_keeps_its_store_from_being_copied(on_server: Server, tmp_path: Path) -> None:
    source = on_server.empty()
    async with open_store(source, create=True) as store:
        row = {"uuid": "u", "name": "n", "host": "h", "pid": 1, "boot_id": "b", "version": "0", "slots": 1,
               "started_ms": 1, "heartbeat_ms": store.now_ms(), "ttl_ms": 60_000, "state": "live"}  # fmt: skip
        await store.write(add, (WORKER, row))
    with pytest.raises(Refused, match="1 worker on postgresql://"):
        await copied(source, str(tmp_path / "two.db"))
    async with open_store(source) as store:
        await store.write(_run, text("UPDATE worker SET heartbeat_ms = heartbeat_ms - 60000"))
    await copied(source, str(tmp_path / "two.db"))
