"""Alarms about the store itself: answers that no backup holds, and what is not as it was written."""

from pathlib import Path

import pytest

from app.gates.evaluating import Look, evaluate
from app.gates.soundness import Verified, note_damage, note_verified
from app.keeping.backup import Shown, backup
from app.keeping.restore import restore
from app.leasing.deleting import Doomed, delete
from app.model.errors import IntegrityFailure
from app.model.ids import DatasetId
from app.model.lease import Settle
from app.model.limits import BACKUP_LEAST, BACKUP_OLD_MS
from app.model.timed import GIB
from app.progress.about import about
from app.progress.alerts import AlarmLine, alerts_page
from app.progress.gathering import overview
from app.progress.sample import sample
from app.store.store import Store, open_store
from app.web.attention import attention
from app.web.hosts import Hosts
from app.web.site import Site
from tests.integration.keeping.kit import look
from tests.integration.leasing.kit import execute
from tests.integration.store import raw
from tests.support.filled import Filled, filled, thought
from tests.support.kinds import db, summed
from tests.support.typed import typed

pytestmark = pytest.mark.anyio

ROOM = (500 * GIB, 1000 * GIB)
MINUTE_MS = 60_000
MISCOUNT = "UPDATE {} SET n = n + {} WHERE metric = 'state:done' AND dataset_id = 1"
QUIET = Shown(lambda _done, _total: None, lambda _done, _total: None)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def alarms(store: Store, backup_ms: int | None = BACKUP_OLD_MS) -> list[AlarmLine]:
    await store.write(evaluate, Look("one", ROOM, backup_ms))
    return [alarm for alarm in (await alerts_page(store)).standing if alarm.kind in ("backup_old", "integrity")]


async def answered(at: Filled, name: str, count: int) -> None:
    await at.dataset(name, count)
    await at.answer_next(name, *map(thought, range(count)))


@pytest.mark.on_files  # backups of a server are its own
async def test_answers_that_no_backup_holds_are_an_alarm_once_they_are_many_and_old(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await answered(at, "few", BACKUP_LEAST - 1)
        at.clock.ms += 10 * BACKUP_OLD_MS
        assert await alarms(at.store) == []  # so few are asked again sooner
        await answered(at, "one_more", 1)
        (alarm,) = await alarms(at.store)
        assert await alarms(at.store, None) == []
        await backup(at.store, tmp_path / "copy.db", QUIET)
        assert await alarms(at.store) == []
        at.clock.ms += MINUTE_MS
        await answered(at, "many", BACKUP_LEAST)
        at.clock.ms += BACKUP_OLD_MS
        assert await alarms(at.store) == []
        at.clock.ms += 1
        (again,) = await alarms(at.store)
        (sooner,) = await alarms(at.store, 2 * MINUTE_MS)
    assert alarm.message.startswith("Answers have come for more than 36 h, and there is no backup.")
    assert again.message.startswith("Answers have come for more than 36 h, and the newest backup does not hold them.")
    assert "for more than 2 min" in sooner.message


async def test_a_new_store_and_one_with_imported_answers_expect_no_backup(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        assert await alarms(at.store) == []
        await answered(at, "d", BACKUP_LEAST)
        await at.store.write(execute, "UPDATE job SET imported = 1")  # they lie in the file that they came from
        at.clock.ms += 2 * BACKUP_OLD_MS
        assert await alarms(at.store) == []


@pytest.mark.on_files  # the same
async def test_a_restored_store_lies_in_the_backup_that_it_came_from(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await answered(at, "d", BACKUP_LEAST)
        await backup(at.store, tmp_path / "copy.db", QUIET)
    await restore(str(tmp_path / "copy.db"), str(tmp_path / "new.db"), QUIET, full=False)
    async with open_store(db(tmp_path / "new.db")) as store:
        assert await alarms(store, 1) == []
        made_ms = (await overview(store)).backup_ms
        assert made_ms == (await about(store)).backup_ms
        assert made_ms is not None


async def test_sums_that_do_not_agree_are_an_alarm_and_said_once(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await answered(at, "d", 3)
        await answered(at, "fine", 2)
        assert await alarms(at.store) == []
        await at.store.write(
            execute, f"UPDATE {summed('counter')} SET n = n + 1 WHERE metric = 'state:done' AND dataset_id = 1"
        )
        (alarm,) = await alarms(at.store)
        now = await overview(at.store)
        site = Site(at.store, Hosts("127.0.0.1"), None)
        told = [one.title for one in attention(site, now)]
        text = typed(tmp_path, "--db", "t.db", "status").stdout.decode()
        await at.store.write(
            execute, f"UPDATE {summed('counter')} SET n = n - 1 WHERE metric = 'state:done' AND dataset_id = 1"
        )
        assert await alarms(at.store) == []
    assert alarm.message.startswith("d: The states add up to 4, the order of import says 3; 3 verdicts stand beside 4")
    assert (alarm.dataset, str(alarm.numbers)) == ("d", "4/3")
    assert told == ["d: the numbers do not add up"]
    assert text.count("The states add up to 4") == 1


async def test_the_sums_agree_while_a_dataset_is_being_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.leasing.deleting.PAGE", 2)
    seen: list[bool] = []
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 7, replicas=3)
        await at.answer_next("d", *map(thought, range(5)))
        failed, waiting = await at.claim(2, "d")
        await at.fail(failed)
        await at.fail(waiting, settle_as=Settle.POSTPONE)
        write = Store.write

        async def watched(self: Store, operation: object, item: object, **more: object) -> object:
            seen.append((await overview(at.store)).adds_up and (await look(at.store, full=False))[0].sound)
            return await write(self, operation, item, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(Store, "write", watched)
        assert await delete(at.store, Doomed(DatasetId(1), "d")) == 21
    assert len(seen) >= 6
    assert all(seen)


@pytest.mark.parametrize(
    ("news", "says"),
    [
        ([(0, False)], None),
        ([(3, False)], "`thinkledger verify` had 3 findings"),
        ([(3, False), (0, False)], None),
        ([(3, True), (0, False)], "`thinkledger verify --full` had 3 findings"),
        ([(3, True), (0, True)], None),
        ([(3, True), (0, True), (1, False)], "`thinkledger verify` had 1 finding"),
    ],
)
async def test_a_finding_stands_until_a_look_at_as_much_finds_nothing(
    tmp_path: Path, news: list[tuple[int, bool]], says: str | None
) -> None:
    async with filled(tmp_path / "t.db") as at:
        for findings, full in news:
            at.clock.ms += 1
            await at.store.write(note_verified, Verified(findings, full, 1))
        found = [alarm.message.partition(".")[0] for alarm in await alarms(at.store)]
    assert found == ([] if says is None else [says])


async def test_a_damaged_page_that_somebody_met_is_an_alarm_until_all_is_verified(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        at.store.damage.saw("database disk image is malformed")
        await note_damage(at.store)
        at.store.damage.saw("database disk image is malformed")
        assert at.store.damage.untold() is None  # it is one piece of news
        (alarm,) = await alarms(at.store)
        await at.store.write(note_verified, Verified(0, full=False, seq=1))
        assert len(await alarms(at.store)) == 1
        at.clock.ms += 1
        await at.store.write(note_verified, Verified(0, full=True, seq=1))
        assert await alarms(at.store) == []
    assert "database disk image is malformed" in alarm.message


async def test_what_the_command_finds_is_noted(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await answered(at, "d", 2)
        await at.store.write(execute, "UPDATE response SET raw_bytes = raw_bytes + 1 WHERE id = 1")
        assert typed(tmp_path, "--db", "t.db", "verify").returncode == 8
        (alarm,) = await alarms(at.store)
        await at.store.write(execute, "UPDATE response SET raw_bytes = raw_bytes - 1 WHERE id = 1")
        assert typed(tmp_path, "--db", "t.db", "verify").returncode == 0
        assert await alarms(at.store) == []
    assert alarm.message.startswith("`thinkledger verify` had 1 finding.")


@pytest.mark.on_files  # spoils the file
async def test_a_page_that_cannot_be_read_is_remembered_by_who_met_it(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await answered(at, "d", 2)
    raw.spoil(tmp_path / "t.db", ["sample"])
    async with open_store(db(tmp_path / "t.db")) as store:
        assert store.damage.untold() is None
        with pytest.raises(IntegrityFailure):
            await sample(store, "d", "s1")
        await note_damage(store)
        assert store.damage.untold() is None
        (alarm,) = await alarms(store)
    assert alarm.message.startswith("A part of the store cannot be read: database disk image is malformed")
