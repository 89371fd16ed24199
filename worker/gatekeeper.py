"""Tells when a gate or an alarm holds a dataset, and ends the run where that was asked for."""

from contextlib import suppress
from dataclasses import dataclass, field

import anyio

from app.leasing.holds import HoldKind, StandingHold, standing
from app.model.exits import Exit
from app.store.store import Store
from worker.log import Log
from worker.shutdown import Ending
from worker.spooling import TROUBLE

LOOK_EVERY_S = 1.0


@dataclass(slots=True)
class Gatekeeper:
    """Looks at the holds of the wanted datasets; the holds themselves are set in the store, by whoever settles."""

    store: Store
    ending: Ending
    log: Log
    wanted: frozenset[str] | None
    ends_run: bool  # --on-gate exit
    _told: set[StandingHold] = field(default_factory=set)

    async def run(self) -> None:
        """Look once a second until cancelled."""
        while True:
            with suppress(*TROUBLE):  # the writer tells it; what cannot be read now is read next time
                await self.look()
            await anyio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Say what is new; drain where a hold is to end the run."""
        held = {one for one in await standing(self.store) if self._concerns(one)}
        for one in sorted(held - self._told, key=lambda hold: hold.since_seq):
            self.log.warning("dataset_held", dataset=one.name, by=one.kind, reason=one.reason)
        self._told = held
        if held and self.ends_run and not self.ending.draining:
            self.log.warning("draining", reason="--on-gate exit")
            self.ending.drain(Exit.GATE)

    def _concerns(self, one: StandingHold) -> bool:
        return one.kind is not HoldKind.PERSON and (self.wanted is None or one.name in self.wanted)
