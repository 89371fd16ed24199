"""What workers say of their servers is one truth for the header, `status`, the page of workers and the alarm."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.gates.evaluating import Look, evaluate
from app.gates.health import Endpoints, Found, Reach, endpoints_in, note_health
from app.leasing import locks
from app.leasing.workers import Leave, Registration, leave, register, renew
from app.model.ids import WorkerId
from app.model.timed import DOWN_SAID_MS, GIB
from app.progress import wording
from app.progress.about import about
from app.progress.alerts import alerts_page
from app.progress.gathering import overview
from app.progress.statements import open_workers
from app.progress.workers import workers_page
from app.store.store import wall_ms
from tests.support.filled import Filled, filled
from tests.support.typed import typed

pytestmark = pytest.mark.anyio

URL, OTHER = "http://server:30000/v1", "http://other:1/v1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def reach(at: Filled) -> Endpoints:
    async with at.store.snapshot() as reads:
        return await endpoints_in(reads, at.clock.ms, at.store.place.workers)


async def say(at: Filled, worker: WorkerId, url: str, trouble: str | None) -> None:
    await at.store.write(note_health, Found(worker, url, trouble))


async def another(at: Filled) -> WorkerId:
    who = Registration("u-other", "second", "host", 2, "boot", "0.1.0", slots=1, ttl_ms=60_000)
    return WorkerId(await at.store.write(register, who))


async def test_every_state_has_its_words(tmp_path: Path) -> None:
    said = []
    async with filled(tmp_path / "t.db") as at:
        for trouble in (None, "refused"):
            await say(at, at.worker, URL, trouble)
            said.append(wording.endpoints(await reach(at)))
        second = await another(at)
        await say(at, second, URL, None)
        said.append(wording.endpoints(await reach(at)))
        await say(at, at.worker, URL, None)
        await say(at, second, OTHER, "refused")
        said.append(wording.endpoints(await reach(at)))
        await say(at, second, OTHER, None)
        said.append(wording.endpoints(await reach(at)))
    assert said == [
        "endpoint up", "endpoint down", "endpoint down for 1 of 2 workers", "1 of 2 endpoints down", "2 endpoints up",
    ]  # fmt: skip
    assert wording.endpoints(Endpoints()) == "no endpoint yet"


async def test_who_has_ended_or_is_silent_says_nothing(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await say(at, at.worker, URL, None)
        at.clock.ms += 60_001
        silent = await reach(at)
        await at.store.write(renew, at.worker)
        heard = await reach(at)
        await at.store.write(leave, Leave(at.worker, "stopped"))
        ended = await reach(at)
    assert [found.reach for found in (silent, heard, ended)] == [Reach.NOT_ASKED, Reach.UP, Reach.NOT_ASKED]
    assert silent.known == URL
    assert wording.endpoints(ended) == "endpoint not asked"


@pytest.mark.parametrize("trouble", [None, "refused"])
async def test_a_killed_worker_says_nothing_from_the_moment_its_lock_is_free(
    tmp_path: Path, trouble: str | None
) -> None:
    """Neither that its server is up nor that it is down, long before its time to live has passed."""
    async with filled(tmp_path / "t.db") as at:
        (uuid,) = [row.uuid for row in await opened(at)]
        lock = locks.take(at.store.place.workers, uuid)
        await say(at, at.worker, URL, trouble)
        at.clock.ms += DOWN_SAID_MS + 1
        await at.store.write(renew, at.worker)
        alive = (await reach(at), await alarms(at))
        lock.let_go()
        killed = (await reach(at), await alarms(at))
        shown = [(await overview(at.store)).endpoints, (await about(at.store)).endpoints]
        shown.append((await workers_page(at.store)).asked)
    assert alive[0].reach is (Reach.UP if trouble is None else Reach.DOWN)
    assert alive[1] == ([] if trouble is None else ["endpoint_down"])
    assert [found.reach for found in (killed[0], *shown)] == [Reach.NOT_ASKED] * 4
    assert killed[1] == []


async def opened(at: Filled) -> Sequence[Any]:
    async with at.store.snapshot() as reads:
        return await reads.rows(open_workers())


async def alarms(at: Filled) -> list[str]:
    """Those that stand after a look."""
    look = Look("one", (500 * GIB, 1000 * GIB), workers=at.store.place.workers)
    await at.store.write(evaluate, look)
    return [alarm.kind for alarm in (await alerts_page(at.store)).standing]


async def test_the_time_is_that_of_the_turn_and_not_of_other_words(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await say(at, at.worker, URL, "refused")
        since_ms = at.clock.ms
        at.clock.ms += 5_000
        await say(at, at.worker, URL, "HTTP 503")
        (one,) = (await reach(at)).asked
        await say(at, at.worker, URL, None)
        (up,) = (await reach(at)).asked
    assert (one.since_ms, one.reason, one.model) == (since_ms, "HTTP 503", "kimi")
    assert (up.since_ms, up.reason) == (since_ms + 5_000, None)


async def test_a_server_that_stays_down_is_an_alarm_until_it_is_up_or_nobody_asks_it(tmp_path: Path) -> None:
    async def look(at: Filled) -> list[tuple[str, str]]:
        await at.store.write(renew, at.worker)
        await at.store.write(evaluate, Look("one", (500 * GIB, 1000 * GIB)))
        return [(alarm.kind, str(alarm.numbers)) for alarm in (await alerts_page(at.store)).standing]

    async with filled(tmp_path / "t.db") as at:
        await say(at, at.worker, URL, "refused")
        at.clock.ms += DOWN_SAID_MS
        assert await look(at) == []
        at.clock.ms += 1
        assert await look(at) == [("endpoint_down", "1/1")]
        (alarm,) = (await alerts_page(at.store)).standing
        await say(at, at.worker, URL, None)
        assert await look(at) == []
        await say(at, at.worker, OTHER, "refused")  # one that was never reached has no identity
        at.clock.ms += DOWN_SAID_MS + 1
        assert await look(at) == [("endpoint_down", "1/1")]
        await at.store.write(leave, Leave(at.worker, "stopped"))
        assert await look(at) == []
    assert alarm.message.startswith(f"{URL} is down: refused. Until it answers again no worker asks it;")
    assert (alarm.endpoint, alarm.evidence and alarm.evidence.page) == (URL, "endpoints")


async def test_every_door_tells_the_same(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        at.clock.ms = wall_ms()
        await at.store.write(renew, at.worker)
        await say(at, at.worker, URL, "\x1b[31mrefused")
        now, facts, page = await overview(at.store), await about(at.store), await workers_page(at.store)
        assert now.endpoints == facts.endpoints == page.asked == await reach(at)
    text = typed(tmp_path, "--db", "t.db", "status").stdout.decode()
    assert "servers  endpoint down\n" in text
    assert "\x1b" not in text
    assert f"  {URL}  down since 20" in text
