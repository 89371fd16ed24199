"""Claims what there is room for, and starts a slot for each lease."""

from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from app.gates.ending import judge_unfinished
from app.leasing.claim import ClaimRequest, claim, prompts_of
from app.leasing.release import release
from app.leasing.remaining import Remaining, remaining
from app.model.config import DatasetConfig
from app.model.errors import UsageError
from app.model.exits import Exit
from app.model.ids import WorkerId
from app.model.lease import Lease
from app.model.limits import DEADLINE_SLACK_MS
from worker.disk import Disk
from worker.pool import Server
from worker.slot import Tools, run_one
from worker.spooling import TROUBLE

IDLE_S = 0.5  # how long to wait for new work where there was none


@dataclass(slots=True)
class Feeder:
    """The flow of leases into slots."""

    tools: Tools
    worker: WorkerId
    wanted: frozenset[str] | None
    timeout_s: float
    until_empty: bool
    limit: int | None
    fixed_model: bool  # --model: it stands in for what the datasets say
    disk: Disk
    claimed: int = 0

    async def run(self, work: TaskGroup) -> None:
        """Claim until the run is ending or, where asked, until nothing is left."""
        while not self.tools.ending.draining:
            room = self._room() if self.tools.spooling.may_ask else 0
            if room == 0:
                if await self._is_over():  # nothing to ask needs no endpoint
                    return
                await self.tools.pool.change(IDLE_S)
                continue
            leases = await self._claim(room)
            self.claimed += len(leases)
            if leases:
                await self._start(leases, work)
            elif await self._is_over():
                return
            else:
                await anyio.sleep(IDLE_S)
            if self.limit is not None and self.claimed >= self.limit:
                return

    async def _claim(self, room: int) -> list[Lease]:
        """Leases for so many slots; none while nothing can be committed."""
        try:
            return await self.tools.store.write(claim, self._request(room), hold_s=self.tools.spooling.hold_s)
        except TROUBLE:
            return []

    def _room(self) -> int:
        room = 0 if self.disk.full else self.tools.pool.room()
        return room if self.limit is None else min(room, self.limit - self.claimed)

    def _request(self, room: int) -> ClaimRequest:
        deadline_ms = self.tools.store.now_ms() + int(self.timeout_s * 1000) + DEADLINE_SLACK_MS
        return ClaimRequest(self.worker, self.tools.store.epoch, room, deadline_ms, self.wanted)

    async def _start(self, leases: list[Lease], work: TaskGroup) -> None:
        prompts = await prompts_of(self.tools.store, leases)
        for lease in leases:
            if prompts[lease.job].held:
                await self.tools.spooling.persist(release, lease)
                continue
            model = DatasetConfig.from_json(prompts[lease.job].config).model
            server = self.tools.pool.take(lambda s, m=model: self._serves(s, m))  # type: ignore[misc]
            if server is None or self.tools.ending.draining:
                if server is not None:
                    self.tools.pool.give_back(server)
                await self.tools.spooling.persist(release, lease)
                self._check_model(model)
            else:
                work.start_soon(run_one, lease, prompts[lease.job], server, self.tools)

    def _serves(self, server: Server, model: str | None) -> bool:
        return model is None or self.fixed_model or model in server.models

    def _check_model(self, model: str | None) -> None:
        """A model that no server has would be asked for ever: SGLang answers 200 for any name."""
        well = [server for server in self.tools.pool.servers if server.well]
        if well and len(well) == len(self.tools.pool.servers) and not any(self._serves(s, model) for s in well):
            listed = ", ".join(sorted({name for server in well for name in server.models}))
            raise UsageError(
                f"A dataset asks for the model {model}, but the endpoints list {listed}. "
                "Change it with `thinkledger datasets set NAME --model M`, or give --model."
            )

    async def _is_over(self) -> bool:
        """With --until-empty: whether nothing is left that this run could still do; the exit code is set then."""
        if not self.until_empty or self.tools.pool.busy or not self.tools.spooling.idle:
            return False
        left = await remaining(self.tools.store, self.wanted)
        if left.open:
            return False
        if await self.tools.spooling.persist(judge_unfinished, self.wanted):
            left = await remaining(self.tools.store, self.wanted)
        self.tools.ending.drain(exit_of(left))
        return True


def exit_of(left: Remaining) -> Exit:
    """What the run says at its end: done, held by a gate, or incomplete. A finished dataset can be held too."""
    if left.gated:
        return Exit.GATE
    return Exit.INCOMPLETE if left.failed or left.held_by_person else Exit.DONE
