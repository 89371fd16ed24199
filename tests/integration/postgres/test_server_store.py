"""What only a store on a server has: texts that it refuses, hosts side by side, lost connections, dumps."""

import signal
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio import run_process
from anyio.lowlevel import checkpoint
from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from app.leasing.release import release
from app.model.errors import IntegrityFailure, NotFound, Unavailable, UsageError
from app.model.states import JobState
from app.store.address import address_of
from app.store.batch import batch_rows, bind_rows
from app.store.beside import beside_others
from app.store.postgres.counting import STATEMENTS
from app.store.postgres.dialect import kept_rows, kept_text, meant_text
from app.store.store import Store, open_store
from app.store.tables import EVENT, METADATA
from app.store.transaction import Tx
from tests.integration.leasing.kit import Room, counters, open_room
from tests.integration.store.kit import note, run
from tests.support.postgres import Server, free_port, start

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("on_server")]
ODD = ["\x00", "\x01", "a\x00b\x01\x02", "\\u0000 \\\\u0000", "é \U0001f600", "", "\\", "\x00\x01\x01\x00"]


@pytest.fixture
def path(tmp_path: Path, on_server: Server) -> str:
    """The URL of a new store."""
    return on_server.url_of(str(tmp_path / "t.db"))


async def kinds(store: Store) -> list[str]:
    async with store.snapshot() as reads:
        return [row.kind for row in await reads.rows(select(EVENT.c.kind).order_by(EVENT.c.id))]


def test_every_text_has_a_form_of_its_own_that_keeps_the_order() -> None:
    assert [meant_text(kept_text(odd)) for odd in ODD] == ODD
    assert sorted(ODD) == [meant_text(kept) for kept in sorted(map(kept_text, ODD))]
    assert not any("\x00" in kept_text(odd) for odd in ODD)


async def test_texts_with_nul_come_back_exactly_from_columns_and_from_batches(path: str) -> None:
    async with open_store(path) as store:
        await store.write(note, ODD[0])
        for odd in ODD[1:]:
            await store.write(note, odd)
        batch = batch_rows("odd", said=str, n=int)
        numbered = bind_rows(zip(ODD, range(len(ODD)), strict=True))
        async with store.snapshot() as reads:
            rows = await reads.rows(
                select(batch.c.said, batch.c.n), {"odd": bind_rows(zip(ODD, range(len(ODD)), strict=True))}
            )
            found = await reads.rows(
                select(EVENT.c.kind).join(batch, batch.c.said == EVENT.c.kind).order_by(batch.c.n),
                {"odd": numbered},
            )
        assert await kinds(store) == ODD
    assert [tuple(row) for row in rows] == list(zip(ODD, range(len(ODD)), strict=True))
    assert [row.kind for row in found] == ODD
    assert kept_rows("[]") == "[]"


def test_the_migrated_schema_is_that_of_the_code(on_server: Server) -> None:
    async def build() -> None:
        from app.store.postgres.engines import writing_engine

        engine = writing_engine(address_of(modelled))
        async with engine.begin() as connection:
            await connection.run_sync(METADATA.create_all)
            for statement in STATEMENTS:
                await connection.exec_driver_sql(statement)
        await engine.dispose()

    modelled, migrated = on_server.empty(), on_server.empty()
    run(build)
    run(lambda: _opened(migrated))
    assert _objects(on_server, modelled) == _objects(on_server, migrated)


async def _opened(url: str) -> None:
    async with open_store(url, create=True):
        await checkpoint()


_CATALOGUE = """
SELECT table_name, column_name, data_type, is_nullable, collation_name, column_default
    FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'alembic_version'
    ORDER BY 1, ordinal_position;
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text <> 'alembic_version' ORDER BY 1, 2;
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version' ORDER BY 1;
SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1;
SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1
"""


def _objects(on_server: Server, url: str) -> list[tuple[object, ...]]:
    """Columns, constraints, indexes, functions, views and triggers, as the server says them."""
    database = url.rsplit("/", 1)[1]
    return [tuple(row) for query in _CATALOGUE.split(";") for row in on_server.run(query, database=database)]


async def test_two_hosts_claim_different_jobs_at_the_same_moment(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room, open_room(tmp_path / "t.db", room.clock) as other:
        other.names = 50
        await room.dataset("d", 40)
        holders = [await room.worker(), await other.worker()]
        taken: list[int] = []

        async def host(mine: Room, place: int) -> None:
            while leases := await mine.claim(holders[place], 3):
                taken.extend(lease.job for lease in leases)
                for lease in leases:
                    await mine.answer(lease)

        async with anyio.create_task_group() as hosts:
            hosts.start_soon(host, room, 0)
            hosts.start_soon(host, other, 1)
        assert sorted(taken) == sorted(set(taken))
        assert len(taken) == 40
        assert (await counters(room))["state:done"] == 40
        assert {facts[0] for facts in (await room.facts()).values()} == {JobState.DONE}


async def test_a_deadlock_is_begun_anew_and_nobody_hears_of_it(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room, open_room(tmp_path / "t.db", room.clock) as other:
        await room.dataset("a", 1)
        await room.dataset("b", 1)
        met = [anyio.Event(), anyio.Event()]

        async def cross(tx: Tx, mine: Sequence[int]) -> list[None]:
            first = mine[0]
            await tx.run(text(f"UPDATE dataset SET rank = rank + 1 WHERE id = {1 + first}"))
            met[first].set()
            await met[1 - first].wait()
            await tx.run(text(f"UPDATE dataset SET rank = rank + 1 WHERE id = {2 - first}"))
            return [None]

        beside_others(cross)
        async with anyio.create_task_group() as hosts:
            hosts.start_soon(room.store.write, cross, 0)
            hosts.start_soon(other.store.write, cross, 1)
        assert await room.all("SELECT rank FROM dataset") == [(2,), (2,)]


class _Lost(Exception):
    """As asyncpg says it: without an answer of the server there is no state."""

    sqlstate = None


async def test_a_commit_whose_answer_was_lost_is_not_done_twice(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, lost = AsyncConnection.commit, 0

    async def commit_and_lose_the_answer(connection: AsyncConnection) -> None:
        nonlocal lost
        await commit(connection)
        if not lost:
            lost = 1
            raise OperationalError("COMMIT", None, _Lost("the answer was lost"), connection_invalidated=True)

    async with open_store(path, patient=True) as store:
        monkeypatch.setattr(AsyncConnection, "commit", commit_and_lose_the_answer)
        assert await store.write(note, "once") == "once"
        assert await kinds(store) == ["once"]
    assert lost == 1


async def test_a_transaction_that_was_cut_off_is_done_again(path: str, on_server: Server) -> None:
    cuts = 0

    async def cut_once(tx: Tx, kinds: Sequence[str]) -> list[str]:
        nonlocal cuts
        done = await note(tx, list(kinds))
        if not cuts:
            cuts = 1
            mine = await tx.value(select(func.pg_backend_pid()))
            on_server.run(f"SELECT pg_terminate_backend({mine})")
            await tx.value(text("SELECT 1"))
        return [str(one) for one in done]

    async with open_store(path, patient=True) as store:
        assert await store.write(cut_once, "again") == "again"
        assert await kinds(store) == ["again"]
    assert cuts == 1


async def test_a_settled_snapshot_waits_for_writers_and_its_number_says_all_it_sees(path: str) -> None:
    async with open_store(path) as one, open_store(path) as other:
        began, go_on = anyio.Event(), anyio.Event()

        async def slow(tx: Tx, kinds: Sequence[str]) -> list[int]:
            number = await tx.seq()
            began.set()
            await go_on.wait()
            await note(tx, list(kinds))
            return [int(number)]

        beside_others(slow)
        beside_others(_numbered)
        seen: list[int] = []

        async def settle() -> None:
            async with one.snapshot(settled=True) as reads:
                seen.append(int(await reads.value(text("SELECT seq FROM meta"))))
                seen.append(int(await reads.value(select(func.count()).select_from(EVENT))))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.write, slow, "slow")
            await began.wait()
            quick = await other.write(_numbered, "quick")
            async with other.snapshot() as reads:
                assert int(await reads.value(text("SELECT seq FROM meta"))) < quick
            tasks.start_soon(settle)
            go_on.set()
        assert seen[0] >= quick
        assert seen[1] == 2


async def _numbered(tx: Tx, kinds: Sequence[str]) -> list[int]:
    await note(tx, list(kinds))
    return [int(await tx.seq()) for _ in kinds]


async def test_a_restored_dump_is_refused_until_it_is_adopted(tmp_path: Path, on_server: Server) -> None:
    async with open_room(tmp_path / "t.db") as room:
        await room.dataset("d", 3)
        worker = await room.worker()
        lease, kept = await room.claim(worker, 2)
        await room.answer(lease)
        before, epoch = await room.store.seq(), room.store.epoch
    source, target = on_server.url_of(str(tmp_path / "t.db")), on_server.empty()
    tool = on_server.bin / "pg_dump"
    if not tool.exists():
        pytest.skip("this machine has a server and no pg_dump")
    dump = await run_process([str(tool), source])
    await run_process([str(tool.with_name("psql")), "-q", "-v", "ON_ERROR_STOP=1", target], input=dump.stdout)
    with pytest.raises(IntegrityFailure, match="adopt_dump"):
        async with open_store(target):
            pass
    on_server.run("SELECT adopt_dump()", database=target.rsplit("/", 1)[1])
    async with open_store(target, now_ms=room.clock.now_ms) as store:
        again = Room(store, room.clock, names=70)
        assert await store.seq() > before
        assert store.epoch > epoch
        assert sorted(facts[0] for facts in (await again.facts()).values()) == ["done", "ready", "ready"]
        assert await store.write(release, kept) is False
        assert len(await again.claim(await again.worker())) == 2
        assert (await counters(again))["state:leased"] == 2


async def test_a_server_that_is_away_is_named_without_the_password(tmp_path: Path) -> None:
    url = f"postgresql://me:secret@127.0.0.1:{free_port()}/runs"
    with pytest.raises(Unavailable) as refused:
        async with open_store(url):
            pass
    assert "secret" not in str(refused.value)


async def test_a_database_without_a_store_or_that_is_not_there_is_said(on_server: Server) -> None:
    with pytest.raises(NotFound, match="no store"):
        async with open_store(on_server.empty()):
            pass
    with pytest.raises(UsageError, match="no such database"):
        async with open_store(on_server.url("nowhere")):
            pass
    with pytest.raises(UsageError, match="names no database"):
        async with open_store("postgresql://127.0.0.1"):
            pass


async def test_several_hosts_that_start_at_once_make_one_store(on_server: Server) -> None:
    url, found = on_server.empty(), set()

    async def begin() -> None:
        async with open_store(url, create=True) as store:
            found.add(store.store_id)

    async with anyio.create_task_group() as hosts:
        for _ in range(4):
            hosts.start_soon(begin)
    assert len(found) == 1


async def test_writers_go_on_after_the_server_was_started_again(tmp_path: Path, on_server: Server) -> None:
    (on_server.folder / "second").mkdir()
    own = start(on_server.bin, on_server.folder / "second", free_port())
    try:
        troubles: list[object] = []
        met = anyio.Event()

        def told(trouble: object) -> None:
            troubles.append(trouble)
            met.set()

        async with open_store(own.empty(), create=True, patient=True, on_trouble=told) as store:
            await store.write(note, "before")
            own.process.send_signal(signal.SIGQUIT)
            own.process.wait()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(store.write, note, "after")
                await met.wait()
                own = await anyio.to_thread.run_sync(start, own.bin, own.folder, own.port)
            assert await kinds(store) == ["before", "after"]
        assert troubles[-1] is None
    finally:
        own.stop()
