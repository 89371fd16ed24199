"""`status --check`: one exit code for monitoring, that of the worst."""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio

from app.gates.alarms import Acknowledge, Alarm, acknowledge, raise_alarms
from app.gates.evaluating import Look, evaluate
from app.leasing.holds import HoldKind, HoldRequest, hold
from app.model.exits import Exit
from app.model.gates import AlarmKind
from app.model.ids import DatasetId
from app.progress.checking import CODES, WORST_FIRST
from app.store.store import wall_ms
from app.store.transaction import Tx
from tests.support.filled import Filled, filled, thought
from tests.support.typed import typed


async def _raise(tx: Tx, alarms: Sequence[Alarm]) -> list[None]:
    await tx.seq()
    await raise_alarms(tx, alarms)
    return [None] * len(alarms)


async def made(at: Filled) -> DatasetId:
    """A dataset that somebody looks after."""
    at.clock.ms = wall_ms()
    dataset = await at.dataset("d", 3)
    await at.answer_next("d", thought(1))
    await at.store.write(evaluate, Look("test", (10**15, 10**15)))
    return dataset


def check(folder: Path, *more: str) -> tuple[int, str]:
    done = typed(folder, "--db", "t.db", "status", "--check", *more)
    return done.returncode, done.stdout.decode()


def test_every_alarm_has_a_code_and_every_code_a_place() -> None:
    assert set(CODES) == set(AlarmKind)
    assert set(CODES.values()) < set(WORST_FIRST)


def test_nothing_wrong_exits_0(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await made(at)

    anyio.run(make)
    assert check(tmp_path) == (Exit.DONE, "ok\n")


def test_open_jobs_that_nobody_looks_after_exit_5(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("d", 1)

    anyio.run(make)
    code, said = check(tmp_path)
    assert code == Exit.TEMPORARY
    assert said.startswith("temporary nobody_looks: Jobs are open, and nobody evaluates")


def test_the_worst_stands_first_and_gives_the_code(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            dataset = await made(at)
            old = Alarm(AlarmKind.BACKUP_OLD, "no backup \x1b[31m")
            lost = Alarm(AlarmKind.LOST_ANY, "1 of 3 lost", dataset, part=1, whole=3)
            for alarm in (old, lost, Alarm(AlarmKind.DISK_LOW, "1 GiB free")):
                await at.store.write(_raise, alarm)
            await at.store.write(hold, HoldRequest(dataset, HoldKind.PERSON, "lunch"))

    anyio.run(make)
    code, said = check(tmp_path)
    assert code == Exit.GATE
    assert said.splitlines() == [
        "gate lost_any d: 1 of 3 lost",
        "resource disk_low: 1 GiB free",
        "incomplete backup_old: no backup \\x1b[31m",
    ]
    code, said = check(tmp_path, "--json")
    told = json.loads(said)
    assert (code, told["exit"], [one["kind"] for one in told["data"]]) == (7, 7, ["lost_any", "disk_low", "backup_old"])
    assert check(tmp_path, "elsewhere")[0] == Exit.NOT_FOUND


def test_an_acknowledged_alarm_is_quiet_until_it_holds(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            dataset = await made(at)
            await at.store.write(_raise, Alarm(AlarmKind.SERVER_CHANGED, "other flags", dataset))
            assert await at.store.write(acknowledge, Acknowledge(1, "test"))

    anyio.run(make)
    assert check(tmp_path)[0] == Exit.DONE

    async def hold_it() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.store.write(hold, HoldRequest(DatasetId(1), HoldKind.GATE, "19 of 20"))

    anyio.run(hold_it)
    assert check(tmp_path) == (Exit.GATE, "gate held by gate d: 19 of 20\n")


def test_check_and_watch_exclude_each_other(tmp_path: Path) -> None:
    assert typed(tmp_path, "status", "--check", "--watch").returncode == Exit.USAGE
