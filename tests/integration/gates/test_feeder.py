"""A job that was claimed and not sent when a hold came goes back."""

from pathlib import Path
from typing import Any

from app.leasing.holds import HoldKind, HoldRequest, hold
from app.model.exits import Exit
from app.spool.file import create
from tests.integration.store.kit import run
from tests.support.filled import filled
from worker.disk import Disk
from worker.feeder import Feeder
from worker.gatekeeper import Gatekeeper
from worker.log import Log
from worker.pool import Pool, Server
from worker.pressure import Pressure
from worker.shutdown import Ending
from worker.slot import Tools
from worker.spooling import Spooling


class Started:
    """Stands in for the task group: what would be asked."""

    def __init__(self) -> None:
        self.jobs: list[int] = []

    def start_soon(self, _run: Any, lease: Any, *_: Any) -> None:
        self.jobs.append(lease.job)


def test_a_hold_between_claim_and_sending_releases_the_job(tmp_path: Path) -> None:
    async def work() -> None:
        async with filled(tmp_path / "t.db") as room:
            await room.dataset("held", 3)
            await room.dataset("free", 3)
            leases = [*await room.claim(3, "held"), *await room.claim(3, "free")]
            await room.store.write(hold, HoldRequest(leases[0].dataset, HoldKind.GATE, "why"))
            server: Any = Server(None, Pressure.open(8), well=True)  # type: ignore[arg-type]
            pool = Pool([server], 8)
            ending, log = Ending(pool.wake), Log(quiet=True)
            spooling = Spooling(room.store, create(tmp_path / "spool", 0), ending, log, 5.0)
            tools = Tools(room.store, pool, ending, log, None, spooling)
            disk = Disk.of(room.store, pool, log, 0)
            feeder = Feeder(tools, room.worker, None, 60.0, until_empty=False, fixed_model=False, disk=disk)
            started: Any = Started()
            await feeder._start(leases, server, started)
            assert started.jobs == [lease.job for lease in leases[3:]]
            assert pool.busy == 3
            assert [lease.dataset for lease in await room.claim(6)] == []
            spooling.file.close()

    run(work)


def test_the_gatekeeper_ends_the_run_for_a_gate_and_not_for_a_person(tmp_path: Path) -> None:
    async def work() -> None:
        async with filled(tmp_path / "t.db") as room:
            one, other = await room.dataset("one", 1), await room.dataset("other", 1)
            ending = Ending(lambda: None)
            keeper = Gatekeeper(room.store, ending, Log(quiet=True), frozenset({"one"}), ends_run=True)
            await room.store.write(hold, HoldRequest(one, HoldKind.PERSON, "lunch"))
            await room.store.write(hold, HoldRequest(other, HoldKind.GATE, "not ours"))
            await keeper.look()
            assert not ending.draining
            await room.store.write(hold, HoldRequest(one, HoldKind.ALARM, "low"))
            await keeper.look()
            assert ending.draining
            assert ending.code is Exit.GATE

    run(work)
