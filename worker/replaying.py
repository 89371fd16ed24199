"""Brings spooled answers into the store: our own as soon as it commits again, and those that dead workers left."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from app.model.errors import ThinkledgerError
from app.model.ids import ResponseId, WorkerId
from app.responses.spooled import Brought, Outcome, Spooled, bring_in
from app.responses.unread import load_bodies
from app.spool.file import Entry, SpoolFile, take
from app.spool.folders import owners, replayable
from app.spool.record import State
from worker.slot import Tools, settle_stored
from worker.spooling import RETRY_S, TROUBLE

LOOK_EVERY_S = 0.5
READ_AT_ONCE = 32
UNREADABLE_S = 30.0
FREED_LOOK_S = 0.05
FREED_WITHIN_LOOKS = 600  # a process that is killed loses its locks one by one; or another brings the answers in now


@dataclass(slots=True)
class Replayer:
    """The way back from the spool."""

    tools: Tools
    worker: WorkerId

    async def run(self) -> None:
        """Look twice a second until cancelled."""
        while True:
            try:
                await self.look()
            except TROUBLE:
                await anyio.sleep(RETRY_S)  # the writer has told it
            except OSError as error:
                self._tell_unreadable(error)
                await anyio.sleep(UNREADABLE_S)
            await anyio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Bring in what waits. Raises the store's trouble where it still cannot commit."""
        spooling = self.tools.spooling
        await self.finish()
        for path in list(replayable(self.tools.store.place)):
            if path != spooling.file.path:
                await self._bring_in_left(take(path))
        if not spooling.looked:
            spooling.looked = True
            self.tools.pool.wake()

    async def finish(self) -> None:
        """Bring in what is our own."""
        spooling = self.tools.spooling
        await self._bring_in(spooling.file)
        if not spooling.file.waiting and len(owners(spooling.file.path)) > 1:  # nothing of the dead is left in it
            spooling.file.rename(spooling.file.path.with_name(spooling.uuid))
        await read_stored(list(spooling.unsettled), self.worker, self.tools)

    async def of_dead(self, uuid: str) -> None:
        """Bring in what a dead worker left, before its jobs are offered again. Waits as long as the store needs."""
        while True:
            try:
                for path in list(replayable(self.tools.store.place)):
                    if uuid in owners(path):
                        await self._bring_in_left(await _freed(path))
            except TROUBLE:
                await anyio.sleep(RETRY_S)
            except OSError as error:
                self._tell_unreadable(error)
                return
            else:
                return

    def _tell_unreadable(self, error: OSError) -> None:
        self.tools.log.warning(
            "spool_unreadable", file=str(error.filename or self.tools.store.place.spool), reason=error.strerror,
            advice="check the disk of the spool; what is in it stays there",
        )  # fmt: skip

    async def _bring_in_left(self, file: SpoolFile | None) -> None:
        if file is None:
            return
        try:
            await self._bring_in(file)
        finally:
            file.close()

    async def _bring_in(self, file: SpoolFile) -> None:
        brought = 0
        for entry in list(file.waiting):
            outcome = await self._bring_one(file, entry)
            brought += outcome is Outcome.STORED
            if file is self.tools.spooling.file:
                self.tools.spooling.note(entry, later=outcome is Outcome.LATER)
        if brought:
            self.tools.log.info("brought_in", answers=brought, file=str(file.path), waiting=len(file.waiting))
            self.tools.pool.wake()

    async def _bring_one(self, file: SpoolFile, entry: Entry) -> Outcome:
        """One answer: marked only after the commit, so that a crash between the two brings it in twice, harmlessly."""
        answer = await anyio.to_thread.run_sync(file.load, entry)
        done = await self._store(Spooled(answer, self.worker))
        if done.outcome is Outcome.LATER:
            return done.outcome
        async with self.tools.spooling.lock:
            file.mark(entry, State.DONE if done.outcome is Outcome.STORED else State.KEPT)
        if done.response is not None:
            await read_stored([done.response], self.worker, self.tools)
        return done.outcome

    async def _store(self, spooled: Spooled) -> Brought:
        answer = spooled.answer
        try:
            brought = await self.tools.store.write(bring_in, spooled, hold_s=self.tools.spooling.hold_s)
        except ThinkledgerError as error:
            if type(error) is not ThinkledgerError:
                raise
            reason = str(error)  # the store refuses the row, today and tomorrow
        else:
            if brought.outcome is not Outcome.UNMATCHED:
                return brought
            reason = "no job of this store has that sample with that content"
        self.tools.log.warning(
            "spooled_answer_kept", dataset=answer.dataset, sample=answer.sample_id, reason=reason,
            advice="it stays in the spool folder; nothing deletes it",
        )  # fmt: skip
        return Brought(Outcome.UNMATCHED)


async def _freed(path: Path) -> SpoolFile | None:
    """The file of a worker that is dead, once nobody holds it; None where somebody else has brought in what it held."""
    for _ in range(FREED_WITHIN_LOOKS):
        file = take(path)
        if file is not None or _is_gone(path):
            return file
        await anyio.sleep(FREED_LOOK_S)
    return None


def _is_gone(path: Path) -> bool:
    return not path.exists()


async def read_stored(responses: Sequence[ResponseId], worker: WorkerId, tools: Tools) -> None:
    """Read and settle stored bodies, a few in memory at a time.

    Until then they are unsettled: where the store cannot be read in between they are tried again, for nobody else
    reads what a live worker has.
    """
    tools.spooling.unsettled.update(responses)
    for start in range(0, len(responses), READ_AT_ONCE):
        some = responses[start : start + READ_AT_ONCE]
        bodies = await load_bodies(tools.store, some, worker)
        tools.spooling.unsettled.difference_update(some)
        for stored in bodies:
            await settle_stored(stored, tools)
