"""Alarms that time triggers: one process looks, and what it says stands as long as it is true."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from app.gates.alarms import Acknowledge, acknowledge, raise_alarms
from app.gates.alarms import Alarm as Raised
from app.gates.evaluating import LEASE_MS, Look, disk_of, evaluate, keep_evaluating
from app.leasing.datasets import dataset_of
from app.leasing.rescue import RescueRequest, rescue
from app.leasing.retry import Retry, Selection, retry, select
from app.leasing.workers import Registration, register, renew
from app.model.gates import AlarmKind
from app.model.ids import WorkerId
from app.model.loss_flags import LossFlag
from app.model.timed import GIB
from app.progress import alerts
from app.progress.alerts import AlarmLine, AlarmState, alerts_page
from app.progress.eta import Word
from app.progress.gathering import overview
from app.store.store import Store
from app.store.tables import ALARM
from app.store.transaction import Tx
from tests.support.filled import Filled, chat, filled, thought
from tests.support.kinds import kind

pytestmark = pytest.mark.anyio

ROOM = (500 * GIB, 1000 * GIB)
MINUTE_MS = 60_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def look(at: Filled, holder: str = "one", disk: tuple[int, int] = ROOM) -> bool:
    return await at.store.write(evaluate, Look(holder, disk))


async def written(store: Store) -> tuple[int, list[tuple[object, ...]]]:
    """The store's number, and the alarms as they are kept; on a server, which counts looks too, the alarms alone."""
    async with store.snapshot() as reads:
        alarms = [tuple(row) for row in await reads.rows(ALARM.select().order_by(ALARM.c.id))]
    return await store.seq() if kind() == "sqlite" else 0, alarms


async def standing(store: Store) -> dict[str, AlarmLine]:
    return {alarm.kind: alarm for alarm in (await alerts_page(store)).standing}


async def test_one_looks_and_another_takes_over_when_it_is_gone(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        assert await look(at, "one")
        assert not await look(at, "two")
        at.clock.ms += LEASE_MS - 1
        assert not await look(at, "two")
        assert await look(at, "one")
        at.clock.ms += LEASE_MS
        assert await look(at, "two")
        at.clock.ms -= 10 * LEASE_MS  # a clock that was set back must not lock everybody out
        assert await look(at, "three")


async def test_the_page_says_when_nobody_looks(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        never = (await alerts_page(at.store)).evaluation
        await look(at)
        now = (await alerts_page(at.store)).evaluation
        at.clock.ms += alerts.STALE_MS + 1
        later = (await alerts_page(at.store)).evaluation
    assert (never.stale, never.at_ms) == (True, None)
    assert (now.stale, now.by, now.age_ms) == (False, "one", 0)
    assert later.stale


async def test_open_requests_without_an_answer_are_a_stall_until_one_comes(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 3)
        (first, _) = await at.claim(2)
        at.clock.ms += 10 * MINUTE_MS
        await look(at)
        assert await standing(at.store) == {}
        at.clock.ms += 1000
        await look(at)
        await at.store.write(renew, at.worker)
        stalled = (await standing(at.store))["stalled"]
        shown = (await overview(at.store)).datasets[0].pace.eta.word
        await at.answer(first, thought(1))
        await look(at)
        assert await standing(at.store) == {}
        over = (await alerts_page(at.store)).cleared
    assert "2 requests are open, and no answer came for more than 10 min" in stalled.message
    assert (stalled.dataset, shown) == ("d", Word.STALLED)
    assert stalled.evidence is not None
    assert stalled.evidence.wanted is not None
    assert stalled.evidence.wanted.words() == {"state": "leased"}
    assert [alarm.kind for alarm in over] == ["stalled"]


async def test_a_dead_worker_is_an_alarm_until_one_is_started_in_its_place(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        other = WorkerId(await at.store.write(register, _worker("u-other", "elsewhere")))
        await at.store.write(rescue, RescueRequest(at.worker, other))
        await look(at)
        dead = (await standing(at.store))["worker_dead"]
        await at.store.write(register, _worker("u-again", "host"))
        await look(at)
        assert await standing(at.store) == {}
    assert dead.message.startswith(f"Worker gpu on host (id {at.worker}) died")
    assert dead.evidence is not None
    assert dead.evidence.page == "workers"


def _worker(uuid: str, host: str) -> Registration:
    return Registration(uuid, "gpu", host, 1, "boot", "0.1.0", slots=1, ttl_ms=60_000)


async def test_a_low_disk_is_said_once_until_it_has_room_again(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await look(at, disk=(GIB, 1000 * GIB))
        before = await written(at.store)
        at.clock.ms += 15_000
        await look(at, disk=(GIB, 1000 * GIB))
        assert await written(at.store) == before  # nothing changed, so nothing is new to a page
        assert (await standing(at.store))["disk_low"].since_ms == at.clock.ms - 15_000
        await look(at, disk=ROOM)
        assert await standing(at.store) == {}
        free, total = disk_of(at.store)
    assert 0 < free <= total


async def test_an_acknowledged_alarm_stands_quietly_and_is_open_again_when_it_begins_to_hold(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        dataset = await at.dataset("d", 1)

        async def low(part: int, *, holds: bool = False) -> None:
            alarm = Raised(AlarmKind.CAPTURE_LOW, "low", dataset, at.endpoint, holds=holds, part=part, whole=50)
            await at.store.write(_raise, alarm)

        await low(47)
        (alarm,) = (await alerts_page(at.store)).standing
        asked = Acknowledge(alarm.id, "web")
        assert [await at.store.write(acknowledge, one) for one in (asked, asked, Acknowledge(99, "web"))] == [
            True, False, False,
        ]  # fmt: skip
        await low(46)
        seen = await alerts_page(at.store)
        await low(39, holds=True)
        held = await alerts_page(at.store)
    assert (seen.open, seen.standing[0].state, seen.standing[0].part) == ((), AlarmState.ACKNOWLEDGED, 46)
    assert [(one.state, str(one.numbers)) for one in held.open] == [(AlarmState.OPEN, "39/50")]


async def _raise(tx: Tx, alarms: Sequence[Raised]) -> list[None]:
    await tx.seq()
    await raise_alarms(tx, alarms)
    return [None] * len(alarms)


async def test_a_process_keeps_looking_until_it_is_cancelled(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_evaluating, at.store, "serve 1", print)
            await anyio.wait_all_tasks_blocked()
            assert not await at.store.write(evaluate, Look("another", ROOM))  # its first look was asked for before ours
            tasks.cancel_scope.cancel()
        assert (await alerts_page(at.store)).evaluation.by == "serve 1"


async def test_answers_that_hint_at_lost_text_are_an_alarm_until_they_were_asked_again(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 4)
        cut = chat("\n\nunderstood")
        await at.answer_next("d", chat("whole"), cut, cut)
        await look(at)
        assert await standing(at.store) == {}  # two are no pattern
        await at.answer_next("d", cut)
        await look(at)
        alarm = (await standing(at.store))["cut_upstream"]
        before = await written(at.store)
        await look(at)
        assert await written(at.store) == before
        selection = Selection(flag=LossFlag.CUT_UPSTREAM)
        dataset = (await dataset_of(at.store, "d")).id
        assert await retry(at.store, Retry(dataset, selection), await select(at.store, dataset, selection)) == 3
        await look(at)
        assert await standing(at.store) == {}
    assert (str(alarm.numbers), alarm.dataset, alarm.holds) == ("3/4", "d", False)
    assert alarm.message.startswith("3 of 4 answers, 75.0 %, begin with an empty line and have no reasoning")
    assert "`thinkledger samples d --flag cut_upstream`" in alarm.message
    assert "`thinkledger retry d --flag cut_upstream`" in alarm.message
    assert alarm.evidence is not None
    assert alarm.evidence.wanted is not None
    assert alarm.evidence.wanted.words() == {"flag": "cut_upstream"}


async def test_answers_that_are_too_short_for_their_tokens_are_an_alarm_of_their_own(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 3)
        await at.answer_next("d", *[chat("t</think>a", counted=64)] * 3)
        await look(at)
        alarms = await standing(at.store)
    assert [(kind, str(alarm.numbers)) for kind, alarm in alarms.items()] == [("text_short_for_tokens", "3/3")]
    assert "have less text than their tokens stand for" in alarms["text_short_for_tokens"].message


def test_every_alarm_says_what_to_do_and_where_to_look() -> None:
    for alarm in AlarmKind:
        assert alerts._ADVICE[alarm]
        assert alerts.evidence(alarm, "d") is not None
