"""Claims what there is room for, server by server, and starts a slot for each lease."""

import time
from dataclasses import dataclass, field

from anyio.abc import TaskGroup

from app.gates.ending import judge_unfinished
from app.leasing.claim import ClaimRequest, Prompt, claim, prompts_of, unserved
from app.leasing.release import InHand, release, release_unheld
from app.leasing.remaining import Remaining, remaining
from app.model.errors import UsageError
from app.model.exits import Exit
from app.model.ids import JobId, WorkerId
from app.model.lease import Lease
from app.model.limits import DEADLINE_SLACK_MS
from worker.disk import Disk
from worker.pool import Server
from worker.reading import patiently
from worker.slot import Tools, run_one
from worker.spooling import TROUBLE

IDLE_S = 0.5  # how long to wait for new work where there was none


@dataclass(slots=True)
class Feeder:
    """The flow of leases into slots. A lease is claimed for one server, which has room and the job's model."""

    tools: Tools
    worker: WorkerId
    wanted: frozenset[str] | None
    timeout_s: float
    until_empty: bool
    fixed_model: bool  # --model: it stands in for what the datasets say
    disk: Disk
    _dry: dict[Server, float] = field(default_factory=dict)  # nothing was ready for it: when to look again
    _in_hand: set[JobId] = field(default_factory=set)  # jobs that are worked at
    _unsure: bool = False  # a claim ended in the store's trouble
    _check_at_s: float = 0.0
    _told: list[str] = field(default_factory=list)

    async def run(self, work: TaskGroup) -> None:
        """Claim until the run is ending or, where asked, until nothing is left."""
        while not self.tools.ending.draining:
            if self.tools.quota.used_up:
                return await self._end_at_limit()
            if self._may_ask() and await self._knows_its_leases() and await self._feed(work):
                continue
            await self._check_models()
            if await self._is_over():
                return None
            await self.tools.pool.change(IDLE_S)
        return None

    def _may_ask(self) -> bool:
        """Whether an answer would find room: in the store, or in the spool."""
        return self.tools.spooling.may_ask and not self.disk.full

    async def _feed(self, work: TaskGroup) -> bool:
        """Give every server with room its part of the free slots; whether any lease was had."""
        pool, fed = self.tools.pool, False
        now_s = time.monotonic()
        open_ones = [one for one in pool.shares() if self._dry.get(one[0], 0.0) <= now_s]
        for place, (server, room) in enumerate(open_ones):
            free = self.tools.quota.room(pool.free())
            share = min(room, -(-free // (len(open_ones) - place)))
            leases = await self._claim(server, share) if share else []
            if share and not leases:
                self._dry[server] = now_s + IDLE_S
            await self._start(leases, server, work)
            fed = fed or bool(leases)
        return fed

    async def _claim(self, server: Server, room: int) -> list[Lease]:
        """Jobs that may kill a server come first, one at a time, where nothing else is asked.

        None of them while nothing can be committed.
        """
        hold_s = self.tools.spooling.hold_s
        try:
            alone = self._request(server, 1, suspects=True)
            if server.busy == 0 and (leases := await self.tools.store.write(claim, alone, hold_s=hold_s)):
                return leases
            return await self.tools.store.write(claim, self._request(server, room), hold_s=hold_s)
        except TROUBLE:
            self._unsure = True
            return []

    async def _knows_its_leases(self) -> bool:
        """A claim that the store's trouble ended may be committed all the same: its leases go back to the queue."""
        if self._unsure:
            in_hand = InHand(self.worker, frozenset(self._in_hand))
            try:
                await self.tools.store.write(release_unheld, in_hand, hold_s=self.tools.spooling.hold_s)
            except TROUBLE:
                return False
            self._unsure = False
        return True

    def _request(self, server: Server, room: int, *, suspects: bool = False) -> ClaimRequest:
        deadline_ms = self.tools.store.now_ms() + int(self.timeout_s * 1000) + DEADLINE_SLACK_MS
        models = None if self.fixed_model else frozenset(server.models)
        return ClaimRequest(self.worker, self.tools.store.epoch, room, deadline_ms, self.wanted, models, suspects)

    async def _start(self, leases: list[Lease], server: Server, work: TaskGroup) -> None:
        if not leases:
            return
        prompts = await patiently(lambda: prompts_of(self.tools.store, leases), self.tools.ending)
        for lease in leases:
            if prompts is None or prompts[lease.job].held or self.tools.ending.draining or not _has_room(server):
                await self.tools.spooling.persist(release, lease)
                continue
            self.tools.pool.take(server, alone=lease.alone)
            self.tools.quota.began()
            self._in_hand.add(lease.job)
            work.start_soon(self._work_at, lease, prompts[lease.job], server)

    async def _work_at(self, lease: Lease, prompt: Prompt, server: Server) -> None:
        try:
            await run_one(lease, prompt, server, self.tools, self._may_ask)
        finally:
            self._in_hand.discard(lease.job)

    async def _check_models(self) -> None:
        """A model that no server has would be waited for without end: SGLang answers 200 for any name."""
        servers = self.tools.pool.servers
        if self.fixed_model or time.monotonic() < self._check_at_s or not all(server.is_well() for server in servers):
            return
        self._check_at_s = time.monotonic() + IDLE_S
        listed = sorted({name for server in servers for name in server.models})
        missing = await patiently(lambda: unserved(self.tools.store, self.wanted, frozenset(listed)), self.tools.ending)
        if not missing:
            return
        said = (
            f"A dataset asks for the model {', '.join(missing)}, but the endpoints list {', '.join(listed)}. "
            "Change it with `thinkledger datasets set NAME --model M`, or give --model."
        )
        if not self.tools.quota.under_way:
            raise UsageError(said)
        if self._told != missing:
            self._told = missing
            self.tools.log.warning("model_not_served", advice=said)

    async def _is_over(self) -> bool:
        """With --until-empty: whether nothing is left that this run could still do; the exit code is set then."""
        if not self.until_empty or self.tools.quota.under_way or not self.tools.spooling.idle:
            return False
        left = await self._left()
        if left is None or left.open:
            return False
        if await self.tools.spooling.persist(judge_unfinished, self.wanted):
            left = await self._left()
            if left is None:
                return False
        self.tools.ending.drain(exit_of(left))
        return True

    async def _end_at_limit(self) -> None:
        """What --limit allowed is settled: the code tells of this run's jobs, and of gates as ever."""
        left = await self._left()
        incomplete = Exit.INCOMPLETE if self.tools.quota.failed else Exit.DONE
        self.tools.ending.drain(Exit.GATE if left is not None and left.gated else incomplete)

    async def _left(self) -> Remaining | None:
        """What is left to do; None where the run is ending and the store cannot say it."""
        return await patiently(lambda: remaining(self.tools.store, self.wanted), self.tools.ending)


def _has_room(server: Server) -> bool:
    """Whether it may still be asked: while its jobs were claimed it may have closed or become ill."""
    return server.room(time.monotonic()) > 0


def exit_of(left: Remaining) -> Exit:
    """What the run says at its end: done, held by a gate, or incomplete. A finished dataset can be held too."""
    if left.gated:
        return Exit.GATE
    return Exit.INCOMPLETE if left.failed or left.held_by_person else Exit.DONE
