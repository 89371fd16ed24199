"""The writer: groups, neighbours, and an answer that means committed."""

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from sqlalchemy import event, insert, update
from sqlalchemy.exc import OperationalError

from app.model.errors import ThinkledgerError, Unavailable
from app.store import writer
from app.store.store import Store, open_store
from app.store.tables import EVENT
from app.store.transaction import Tx
from tests.integration.store import raw
from tests.integration.store.kit import Halt, in_store, note, run
from tests.support.kinds import db, kind

COUNT = "SELECT count(*) FROM event"


async def _write_all(store: Store, kinds: Sequence[str | None]) -> dict[str | None, object]:
    """Ask for all at once; what became of each."""
    outcome: dict[str | None, object] = {}

    async def one(kind: str | None) -> None:
        try:
            outcome[kind] = await store.write(note, kind)
        except ThinkledgerError as error:
            outcome[kind] = error

    async with anyio.create_task_group() as tasks:
        for kind in kinds:
            tasks.start_soon(one, kind)
    return outcome


def _count_commits(store: Store) -> list[object]:
    commits: list[object] = []
    event.listen(store._writer._engine, "commit", commits.append)
    return commits


def test_what_is_asked_at_once_is_committed_in_few_groups(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        commits = _count_commits(store)
        kinds = [f"k{number}" for number in range(2 * writer.GROUP)]
        assert await _write_all(store, kinds) == {kind: kind for kind in kinds}
        assert 2 <= len(commits) <= 4
        assert raw.query(tmp_path / "t.db", COUNT) == [(len(kinds),)]

    in_store(tmp_path / "t.db", work)


def test_a_bad_row_takes_no_neighbour_along(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        kinds = ["a", "b", None, "c", "d"]
        outcome = await _write_all(store, kinds)
        assert isinstance(outcome.pop(None), ThinkledgerError)
        assert outcome == {kind: kind for kind in "abcd"}
        assert raw.query(tmp_path / "t.db", "SELECT kind FROM event ORDER BY kind") == [(kind,) for kind in "abcd"]

    in_store(tmp_path / "t.db", work)


@pytest.mark.parametrize("bad", ["\ud800", 2**63], ids=["a lone surrogate", "a number of 64 bits"])
def test_a_value_that_cannot_be_bound_takes_no_neighbour_along(tmp_path: Path, bad: object) -> None:
    async def bind(tx: Tx, items: Sequence[object]) -> list[object]:
        for item in items:
            await tx.run(insert(EVENT), {"at_ms": item if isinstance(item, int) else 1, "kind": str(item)})
        return list(items)

    async def work(store: Store) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.write, bind, "before")
            tasks.start_soon(_refused, store, bind, bad)
            tasks.start_soon(store.write, bind, "after")
        assert raw.query(tmp_path / "t.db", "SELECT kind FROM event ORDER BY id") == [("before",), ("after",)]

    in_store(tmp_path / "t.db", work)


async def _refused(store: Store, operation: object, item: object) -> None:
    with pytest.raises(ThinkledgerError):
        await store.write(operation, item)  # type: ignore[arg-type]


def test_a_caller_is_answered_only_after_the_commit(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        with raw.connection(tmp_path / "t.db") as other:

            async def one(number: int) -> None:
                await store.write(note, f"k{number}")
                seen = other.execute("SELECT count(*) FROM event WHERE kind = ?", (f"k{number}",)).fetchone()
                assert seen == (1,)

            for _ in range(10):
                async with anyio.create_task_group() as tasks:
                    for number in range(20):
                        tasks.start_soon(one, number)
                other.execute("DELETE FROM event")

    in_store(tmp_path / "t.db", work)


class _DiskFailed(Exception):
    """As asyncpg says it."""

    sqlstate = "58030"


def test_a_commit_that_fails_is_an_error_for_every_caller_of_the_group(tmp_path: Path) -> None:
    def fail(_connection: object) -> None:
        error = raw.sqlite3.OperationalError("disk I/O error")
        raise OperationalError("COMMIT", None, error if kind() == "sqlite" else _DiskFailed("could not fsync file"))

    async def work(store: Store) -> None:
        engine = store._writer._engine
        event.listen(engine, "commit", fail)
        outcome = await _write_all(store, ["a", "b"])
        event.remove(engine, "commit", fail)
        assert [type(error).__name__ for error in outcome.values()] == ["ResourceExhausted"] * 2
        assert raw.query(tmp_path / "t.db", COUNT) == [(0,)]
        assert await store.write(note, "later") == "later"

    in_store(tmp_path / "t.db", work)


def test_the_write_of_a_cancelled_caller_is_committed_and_the_store_stays_usable(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        halt = Halt()

        async def slow(tx: Tx, kinds: Sequence[str]) -> list[str]:
            await note(tx, kinds)
            await halt.stand()
            return list(kinds)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.write, slow, "inside its transaction")
            await halt.entered()
            tasks.start_soon(store.write, note, "still in the queue")
            while not store._writer._queue:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert raw.query(tmp_path / "t.db", COUNT) == [(0,)]
        halt.go_on()
        await store.write(note, "later")
        kinds = raw.query(tmp_path / "t.db", "SELECT kind FROM event ORDER BY id")
        assert kinds == [("inside its transaction",), ("still in the queue",), ("later",)]

    in_store(tmp_path / "t.db", work)


def test_the_first_lane_overtakes_the_queue(tmp_path: Path) -> None:
    order: list[str] = []

    async def work(store: Store) -> None:
        halt = Halt()

        async def slow(_tx: Tx, items: Sequence[str]) -> list[str]:
            await halt.stand()
            return list(items)

        async def queued(_tx: Tx, items: Sequence[str]) -> list[str]:
            order.extend(items)
            return list(items)

        async def beat(_tx: Tx, items: Sequence[str]) -> list[str]:
            order.extend(items)
            return list(items)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.write, slow, "slow")
            await halt.entered()
            for number in range(writer.GROUP):
                tasks.start_soon(store.write, queued, f"queued {number}")
            while len(store._writer._queue) < writer.GROUP:
                await anyio.lowlevel.checkpoint()
            tasks.start_soon(lambda: store.write(beat, "beat", first=True))
            while len(store._writer._queue) <= writer.GROUP:
                await anyio.lowlevel.checkpoint()
            halt.go_on()

    in_store(tmp_path / "t.db", work)
    assert order[0] == "beat"
    assert len(order) == writer.GROUP + 1


def test_everything_that_was_asked_for_is_committed_before_the_store_is_closed(tmp_path: Path) -> None:
    asked = 3 * writer.GROUP

    async def work() -> None:
        async with anyio.create_task_group() as callers:
            async with open_store(db(tmp_path / "t.db"), create=True) as store:
                for number in range(asked):
                    callers.start_soon(store.write, note, f"k{number}")
                queue: deque[object] = store._writer._queue  # type: ignore[assignment]
                while len(queue) < asked:
                    await anyio.lowlevel.checkpoint()
            assert raw.query(tmp_path / "t.db", COUNT) == [(asked,)]

    run(work)


def test_a_write_after_the_end_is_refused_and_hangs_nobody(tmp_path: Path) -> None:
    async def work() -> None:
        async with open_store(db(tmp_path / "t.db"), create=True) as store:
            await store.write(note, "before")
        with anyio.fail_after(30), pytest.raises(Unavailable, match="closed"):
            await store.write(note, "after")

    run(work)
    assert raw.query(tmp_path / "t.db", "SELECT kind FROM event") == [("before",)]


def test_a_fault_in_an_operation_reaches_every_caller_shielded_ones_too(tmp_path: Path) -> None:
    """It ends the writer, so whoever waits behind a shield would wait for ever."""
    told: list[object] = []

    async def broken(_tx: Tx, _items: Sequence[object]) -> list[object]:
        raise KeyError("a fault in the program")

    async def shielded(store: Store, operation: object) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await store.write(operation, "x")  # type: ignore[arg-type]
            except KeyError as error:
                told.append(error)

    async def work(store: Store) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shielded, store, note)
            tasks.start_soon(shielded, store, broken)
            for _ in range(writer.GROUP):
                tasks.start_soon(shielded, store, note)

    with pytest.raises(KeyError):
        in_store(tmp_path / "t.db", work)
    assert len(told) == writer.GROUP + 2
    assert raw.query(tmp_path / "t.db", COUNT) == [(0,)]


@pytest.mark.on_files  # on a server it is the server's own number of the transaction
def test_only_a_transaction_that_changes_rows_takes_a_number(tmp_path: Path) -> None:
    async def reads(_tx: Tx, items: Sequence[object]) -> list[object]:
        return list(items)

    async def changes(tx: Tx, items: Sequence[object]) -> list[int]:
        return [await tx.seq() for _ in items]

    async def work(store: Store) -> None:
        await store.write(reads, None)
        assert await store.seq() == 0
        assert [await store.write(changes, None) for _ in range(3)] == [1, 2, 3]
        assert await store.seq() == 3

    in_store(tmp_path / "t.db", work)


@pytest.mark.on_files  # on a server an operation waits for it at each statement
def test_an_operation_that_waits_for_anything_but_its_transaction_is_a_fault_and_commits_nothing(
    tmp_path: Path,
) -> None:
    async def waits(tx: Tx, items: Sequence[object]) -> list[object]:
        await note(tx, ["x"])
        await asyncio.sleep(0)
        return list(items)

    async def work(store: Store) -> None:
        await store.write(waits, None)

    with pytest.raises(RuntimeError, match="waited for something else"):
        in_store(tmp_path / "t.db", work)
    assert raw.query(tmp_path / "t.db", COUNT) == [(0,)]


def test_a_statement_that_returns_rows_is_run_to_its_end(tmp_path: Path) -> None:
    async def rename(tx: Tx, kinds: Sequence[str]) -> list[int]:
        return [await tx.run(update(EVENT).values(kind=kind).returning(EVENT.c.id)) for kind in kinds]

    async def work(store: Store) -> None:
        await _write_all(store, ["a", "b", "c"])
        assert await store.write(rename, "d") == 3
        assert raw.query(tmp_path / "t.db", "SELECT DISTINCT kind FROM event") == [("d",)]

    in_store(tmp_path / "t.db", work)
