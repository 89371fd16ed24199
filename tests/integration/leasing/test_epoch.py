"""A restore makes every older lease void: what a worker that survived it brings moves no job."""

from pathlib import Path

import pytest

from app.leasing.release import release
from app.model.errors import StoreReplaced
from app.model.lease import Settle
from tests.integration.leasing.kit import Room, counters, in_room

RESTORED = "UPDATE meta SET epoch = epoch + 1"


def test_a_lease_of_another_epoch_moves_no_job(tmp_path: Path) -> None:
    """The attempt alone would let it through: after a restore, attempts are counted again from those of the backup."""

    async def work(room: Room) -> None:
        await room.dataset("a", 4)
        leases = await room.claim(await room.worker(), 4)
        stored = await room.keep(leases[0])
        await room.execute(RESTORED)
        before = await room.facts()
        assert not await room.settle(stored, leases[0])
        assert await room.fail(leases[1], Settle.GIVE_UP) is None
        assert not await room.store.write(release, leases[2])
        assert await room.facts() == before
        assert (await counters(room))["state:leased"] == 4
        assert await room.responses(leases[0].job) == {1: "late"}

    in_room(tmp_path, work)


def test_a_worker_of_another_epoch_takes_nothing_and_stores_nothing(tmp_path: Path) -> None:
    """Its body would take the place of the answer that somebody else is asking for under the same attempt."""

    async def work(room: Room) -> None:
        await room.dataset("a", 2)
        worker = await room.worker()
        (lease,) = await room.claim(worker, 1)
        await room.execute(RESTORED)
        with pytest.raises(StoreReplaced, match="restored"):
            await room.keep(lease)
        with pytest.raises(StoreReplaced, match="restored"):
            await room.claim(worker, 1)
        assert await room.all("SELECT count(*) FROM response") == [(0,)]

    in_room(tmp_path, work)
