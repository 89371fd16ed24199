"""Below the floor of free space nothing new is asked; above it a worker goes on by itself."""

import json
import re
from pathlib import Path

import pytest

from app.model.errors import StoreReplaced
from app.model.limits import MIN_FREE_DISK, least_free_disk
from app.progress import disk as disks
from app.progress import wording
from app.progress.gathering import overview
from app.progress.overview import Need, Usage
from tests.integration.keeping.kit import fill, make_filled
from tests.integration.store.kit import run
from tests.support.filled import filled, thought
from tests.support.product import Product
from worker import disk as watched
from worker.disk import Disk
from worker.log import Log
from worker.pool import Pool

FLOOR = 1000


def test_a_worker_stops_below_the_floor_and_goes_on_with_room_to_spare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    free = iter([1000, 999, 900, 1000, 1099, 1100, 1050])
    monkeypatch.setattr(watched, "disk_usage", lambda _folder: Usage(10**6, next(free)))

    async def work() -> list[bool]:
        async with filled(tmp_path / "t.db") as at:
            await fill(at)
            disk = Disk.of(at.store, Pool([], 1), Log(), FLOOR)
            seen = []
            while len(seen) < 7:
                await disk.look()
                seen.append(disk.full)
            return seen

    free_of_all = run(work)
    assert free_of_all == [False, True, True, True, True, False, False]
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[1:3] for line in said] == [["warning", "disk_low"], ["info", "disk_has_room"]]
    assert "for 10 open jobs (" in said[0]
    assert "no new prompts are asked until there is space" in said[0]


def test_a_store_that_is_exchanged_is_noticed_without_a_write(tmp_path: Path) -> None:
    async def work() -> None:
        async with filled(tmp_path / "t.db") as at:
            disk = Disk.of(at.store, Pool([], 1), Log(), FLOOR)
            await disk.look()
            (tmp_path / "t.db").rename(tmp_path / "moved.db")
            await disk.look()

    with pytest.raises(StoreReplaced):
        run(work)


def test_the_need_is_that_of_the_latest_answers_for_every_open_job(tmp_path: Path) -> None:
    async def work() -> tuple[Need, Need]:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("a", 5)
            nothing = await disks.need(at.store)
            await at.answer_next("a", thought(1), thought(2))
            return nothing, await disks.need(at.store)

    before, after = run(work)
    assert before == Need(5, None)
    assert before.total is None
    assert after.open_jobs == 3
    assert after.answer_bytes is not None
    assert 1024 < after.answer_bytes < 4096
    assert after.total == 3 * after.answer_bytes
    assert wording.need(before) == "unknown for 5 open jobs: no answer yet"
    assert wording.need(Need(10_000, 340_000)) == "about 3.1 GiB for 10,000 open jobs (332.0 KiB an answer so far)"


@pytest.mark.parametrize(("disk", "floor"), [(10**13, MIN_FREE_DISK), (64 * 2**20, 64 * 2**20 // 20)])
def test_the_floor_of_a_small_disk_is_a_share_of_it(disk: int, floor: int) -> None:
    assert least_free_disk(disk) == floor


def test_the_overview_says_when_there_is_too_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.progress.gathering.disk_usage", lambda _folder: Usage(10**12, MIN_FREE_DISK - 1))

    async def work() -> bool:
        async with filled(tmp_path / "t.db") as at:
            return (await overview(at.store)).disk_low

    assert run(work)


def test_status_says_how_much_is_free_and_needed_and_how_old_the_backup_is(product: Product) -> None:
    make_filled(product.db)
    before = product.run("status").stdout.decode()
    assert " free, about " in before
    assert " for 10 open jobs (" in before
    assert before.rstrip().endswith("no backup yet")
    product.run("backup")
    assert re.search(r"backup \d+ s old$", product.run("status").stdout.decode().rstrip())
    facts = json.loads(product.run("status", "--json").stdout)["data"]
    assert facts["disk"]["open_jobs"] == 10
    assert facts["disk"]["needed"] == 10 * facts["disk"]["answer_bytes"]
    assert facts["store"]["backup_ms"] == product.value("SELECT backup_ms FROM meta")
