"""Spooled answers go the ordinary way into the store, once, however often they are brought in."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from app.model.errors import Unavailable
from app.responses.unread import load_bodies
from app.spool.folders import open_own
from app.spool.looking import SpoolState, look
from app.store.store import Store
from tests.integration.spool import kit
from tests.integration.store import raw
from tests.integration.store.kit import ROOT, run
from tests.support.filled import filled, thought
from worker import replaying


def restore(store: Store) -> None:
    """What a restore does: another epoch, and every lease void."""
    raw.script(
        store.place.path,
        "UPDATE meta SET epoch = epoch + 1",
        "UPDATE job SET state = 'ready', lease_worker = NULL, lease_deadline_ms = NULL WHERE state = 'leased'",
    )


def test_an_answer_is_accepted_once_however_often_it_is_brought_in(tmp_path: Path) -> None:
    path = tmp_path / "t.db"

    async def work() -> None:
        async with filled(path) as room:
            await room.dataset("data", 2)
            (lease,) = await room.claim(1)
            answer = kit.spooled(room, lease, "s1", thought(1))
            with kit.tools_of(room) as tools:
                replayer = kit.replayer(room, tools)
                for name in ("one", "two", "three"):
                    left = kit.left_by_dead(room, answer, answer, name=name)
                    await replayer.look()
                    assert not left.exists()
                    assert kit.rows(path)[0] == ("s1", "done", 1, 0, 1, 0, 1, 0, "split_from_content")
                    assert len(kit.rows(path)) == 2
                assert tools.spooling.looked

    run(work)


@pytest.mark.parametrize("of_dead", [True, False])
def test_a_body_that_was_brought_in_is_read_later_where_the_store_cannot_be_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_dead: bool
) -> None:
    path, away = tmp_path / "t.db", [Unavailable("The store is busy."), Unavailable("The store is busy.")]

    async def load(*asked: Any) -> Any:
        if away:
            raise away.pop()
        return await load_bodies(*asked)

    async def work() -> None:
        async with filled(path) as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            answer = kit.spooled(room, lease, "s1", thought(1))
            with kit.tools_of(room) as tools:
                replayer = kit.replayer(room, tools)
                if of_dead:
                    kit.left_by_dead(room, answer)
                else:
                    tools.spooling.file.append(answer)
                for _ in range(2):
                    with pytest.raises(Unavailable):
                        await replayer.look()
                    assert kit.rows(path) == [("s1", "leased", 1, 0, 1, 0, 0, 0, None)]
                    assert not tools.spooling.idle
                await replayer.look()
                assert kit.rows(path) == [("s1", "done", 1, 0, 1, 0, 1, 0, "split_from_content")]
                assert tools.spooling.idle

    monkeypatch.setattr(replaying, "load_bodies", load)
    run(work)


def test_a_newer_accepted_answer_wins_and_the_spooled_one_is_kept_as_late(tmp_path: Path) -> None:
    path = tmp_path / "t.db"

    async def work() -> None:
        async with filled(path) as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            raw.script(path, "UPDATE job SET state = 'ready', lease_worker = NULL, lease_deadline_ms = NULL")
            await room.answer_next("data", thought(2))
            with kit.tools_of(room) as tools:
                kit.left_by_dead(room, kit.spooled(room, lease, "s1", thought(1)))
                await kit.replayer(room, tools).look()

    run(work)
    assert [row[4:8] for row in kit.rows(path)] == [(2, 0, 1, 0), (1, 1, 0, 0)]


def test_a_malformed_answer_comes_back_as_a_failed_attempt(tmp_path: Path) -> None:
    path = tmp_path / "t.db"

    async def work() -> None:
        async with filled(path) as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            with kit.tools_of(room) as tools:
                kit.left_by_dead(room, kit.spooled(room, lease, "s1", b"<html>"))
                await kit.replayer(room, tools).look()

    run(work)
    assert kit.rows(path) == [("s1", "waiting", 1, 0, 1, 0, 0, 0, "malformed")]


@pytest.mark.parametrize("state", ["ready", "done", "cancelled"])
def test_after_a_restore_an_answer_is_matched_by_its_sample_and_accepted_where_none_stands(
    tmp_path: Path, state: str
) -> None:
    path = tmp_path / "t.db"

    async def spool() -> Path:
        async with filled(path) as room:
            await room.dataset("data", 2)
            (lease,) = await room.claim(1)
            left = kit.left_by_dead(room, kit.spooled(room, lease, "s1", thought(1)))
            restore(room.store)
            if state == "cancelled":
                raw.script(path, "UPDATE job SET state = 'cancelled' WHERE sample_id = 's1'")
        return left

    async def bring(left: Path) -> None:
        kept = left.read_bytes()
        async with filled(path) as room:
            if state == "done":
                await room.claim(0)
                room.thinking[1] = None  # type: ignore[index]
                await room.answer_next("data", thought(2))
            for _ in range(2):
                with kit.tools_of(room) as tools:
                    await kit.replayer(room, tools).look()
                assert not left.exists()
                left.write_bytes(kept)
            left.unlink()

    left = run(spool)
    run(lambda: bring(left))
    found = [row for row in kit.rows(path) if row[0] == "s1"]
    assert {
        "ready": [("s1", "done", 2, 0, 2, 0, 1, 0, "split_from_content")],
        "done": [
            ("s1", "done", 3, 0, 2, 0, 1, 0, "split_from_content"),
            ("s1", "done", 3, 0, 3, 1, 0, 0, "split_from_content"),
        ],
        "cancelled": [("s1", "cancelled", 2, 0, 2, 1, 0, 0, "split_from_content")],
    }[state] == found


def test_after_a_restore_an_answer_waits_while_somebody_works_at_its_job(tmp_path: Path) -> None:
    path = tmp_path / "t.db"

    async def work() -> None:
        async with filled(path) as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            left = kit.left_by_dead(room, kit.spooled(room, lease, "s1", thought(1)))
            restore(room.store)
        async with filled(path) as room:
            (again,) = await room.claim(1)
            with kit.tools_of(room) as tools:
                tools.spooling.file.append(kit.spooled(room, lease, "s1", thought(3)))
                await kit.replayer(room, tools).look()
                assert look(room.store.place).waiting == 2
                assert tools.spooling.may_ask  # one's own work does not wait for somebody else's
                assert await room.answer(again, thought(2))
                await kit.replayer(room, tools).look()
            assert not left.exists()

    run(work)
    assert [row[4:7] for row in kit.rows(path)] == [(2, 0, 1), (3, 1, 0), (4, 1, 0)]


@pytest.mark.parametrize("what", ["another store", "no such sample", "another content", "a job of another number"])
def test_an_answer_that_matches_no_job_is_kept_and_never_deleted(tmp_path: Path, what: str) -> None:
    async def work() -> SpoolState:
        async with filled(tmp_path / "t.db") as room:
            await room.dataset("data", 2)
            leases = await room.claim(2)
            answer = kit.spooled(room, leases[what == "a job of another number"], "s1", thought(1))
            other = {
                "another store": {"store_id": "0" * 32},
                "no such sample": {"sample_id": "s9"},
                "another content": {"content_sha256": "1"},
            }
            for name, value in other.get(what, {}).items():
                object.__setattr__(answer, name, value)
            fits = kit.spooled(room, leases[1], "s2", thought(2))
            left = kit.left_by_dead(room, answer, fits)
            with kit.tools_of(room) as tools:
                await kit.replayer(room, tools).look()
                await kit.replayer(room, tools).look()
            assert not left.exists()
            return look(room.store.place)

    found = run(work)
    assert [file.path.name for file in found.files] == ["dead.kept"]
    assert (found.waiting, found.kept) == (0, 1)
    assert [row[1] for row in kit.rows(tmp_path / "t.db")] == ["leased", "done"]


@pytest.mark.parametrize("verb", ["die_after_fsync", "die_after_commit"])
def test_a_worker_killed_on_the_way_into_the_store_loses_and_doubles_nothing(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "t.db"
    command = [sys.executable, "-m", "tests.integration.spool.processes", verb, str(path)]
    died = subprocess.run(command, cwd=ROOT, check=False)
    assert died.returncode == -signal.SIGKILL

    async def work() -> None:
        async with filled(path) as room:
            assert look(room.store.place).waiting == 1
            with kit.tools_of(room) as tools:
                await kit.replayer(room, tools).look()
            assert look(room.store.place).files == ()

    run(work)
    assert kit.rows(path)[0] == ("s1", "done", 1, 0, 1, 0, 1, 0, "split_from_content")
    assert raw.query(path, "SELECT count(*) FROM response") == [(1,)]
    assert raw.query(path, "SELECT count(*) FROM unread") == [(0,)]


def test_the_answers_of_a_live_worker_are_left_to_it(tmp_path: Path) -> None:
    async def work() -> None:
        async with filled(tmp_path / "t.db") as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            with kit.tools_of(room) as alive, anyio.fail_after(30):
                alive.spooling.file.append(kit.spooled(room, lease, "s1", thought(1)))
                other = kit.create(room.store.place.spool / "other", 0)
                alive.spooling.file, own = other, alive.spooling.file
                await kit.replayer(room, alive).look()
                assert len(own.waiting) == 1
                assert [file.held for file in look(room.store.place).files] == [True, True]
                alive.spooling.file = own
                await kit.replayer(room, alive).look()
                other.close()

    run(work)
    assert kit.rows(tmp_path / "t.db")[0][1] == "done"


def test_a_file_that_is_taken_over_is_found_by_the_dead_ones_name_until_it_is_empty(tmp_path: Path) -> None:
    async def work() -> None:
        async with filled(tmp_path / "t.db") as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            kit.left_by_dead(room, kit.spooled(room, lease, "s1", thought(1)), name="dead")
            place = room.store.place
            own = open_own(place, room.store.store_id, None, "successor", 1 << 16)
            assert own.path.name == "dead.successor"
            with kit.tools_of(room) as tools:
                other, tools.spooling.file = tools.spooling.file, own
                assert tools.spooling.uuid == "successor"
                rescuer = kit.replayer(room, tools)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(rescuer.of_dead, "dead")
                    await kit.replayer(room, tools).look()
                assert own.path.name == "successor"
                assert raw.query(place.path, "SELECT state FROM job") == [("done",)]
                own.close()
                other.close()
            assert list(place.spool.iterdir()) == []

    run(work)
