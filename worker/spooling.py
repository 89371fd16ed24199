"""Where a worker's answers go: into the store, or into its spool file while nothing can be committed."""

import time
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread

from app.leasing.claim import Prompt
from app.model.errors import IntegrityFailure, ResourceExhausted, ThinkledgerError, Unavailable
from app.model.ids import ResponseId
from app.responses.keep import PackedReply, keep
from app.responses.read import Judged, settle
from app.spool.file import Entry, SpoolFile
from app.spool.folders import owners
from app.spool.looking import answers_wait
from app.spool.record import SpooledAnswer
from app.store.store import Store
from app.store.writer import Operation
from worker.log import Log
from worker.shutdown import Ending

Item = TypeVar("Item")
Result = TypeVar("Result")

TROUBLE = (Unavailable, ResourceExhausted)  # of the store: busy, full, failing or gone; it may pass
RETRY_S = 0.2
TELL_EVERY_S = 60.0


class Teller:
    """Says once a minute what keeps the store from committing, and once that it is over."""

    def __init__(self, log: Log, hold_s: float) -> None:
        self._log = log
        self._advice = (
            f"answers that come now go to the spool after {hold_s:g} s, nothing new is asked, and the run goes on by "
            "itself when this is over"
        )
        self._since_s: float | None = None
        self._told: tuple[float, type[ThinkledgerError]] | None = None
        self._spoken = False  # the trouble of now was told, so its end is worth a word

    def __call__(self, error: ThinkledgerError | None) -> None:
        """What the writer met, or None: it commits again."""
        now_s = time.monotonic()
        if error is None:
            if self._since_s is not None and self._spoken:
                self._log.info("store_well", after_s=round(now_s - self._since_s, 1))
            self._since_s, self._spoken = None, False  # what was told stays told
            return
        self._since_s = self._since_s or now_s
        if self._told is None or self._told[1] is not type(error) or now_s - self._told[0] > TELL_EVERY_S:
            self._told, self._spoken = (now_s, type(error)), True
            self._log.warning("store_trouble", reason=str(error), advice=self._advice)


@dataclass(eq=False, slots=True)
class Spooling:
    """The way of one worker's answers. `file` is its own and locked; `uuid` names both."""

    store: Store
    file: SpoolFile
    ending: Ending
    log: Log
    hold_s: float  # how long a write waits for a store that cannot commit
    looked: bool = False  # whether the files that dead workers left were brought in
    stuck: set[int] = field(default_factory=set)  # jobs whose answer neither store nor spool takes: in memory only
    unsettled: set[ResponseId] = field(default_factory=set)  # bodies that are stored and could not be settled
    deferred: set[int] = field(default_factory=set)  # offsets of records whose job somebody else works at just now
    trouble: ThinkledgerError | None = None  # why the latest answer went to the spool
    unclean: ThinkledgerError | None = None  # why the leases could not be given back
    lock: anyio.Lock = field(default_factory=anyio.Lock)  # of the file

    @property
    def uuid(self) -> str:
        return owners(self.file.path)[-1]

    @property
    def may_ask(self) -> bool:
        """Whether new requests may be sent: not while answers wait, or the reserve could run out."""
        pressing = any(entry.offset not in self.deferred for entry in self.file.waiting)
        return self.looked and not pressing and not self.stuck

    @property
    def idle(self) -> bool:
        """Whether no answer is on its way into the store."""
        return self.may_ask and not self.unsettled

    def note(self, entry: Entry, *, later: bool) -> None:
        """Note whether a record of ours has to wait for somebody else: that is no reason not to ask."""
        if later:
            self.deferred.add(entry.offset)
        else:
            self.deferred.discard(entry.offset)

    async def keep(self, packed: PackedReply, prompt: Prompt) -> ResponseId | None:
        """The number of a stored body; None where it went to the spool: whoever brings it in reads it.

        Returns only when the answer is on a disk. Until then it is tried again, in the store and in the spool.
        """
        answer = spooled(packed, prompt, self.store.store_id)
        try:
            while True:
                try:
                    return await self.store.write(keep, packed, hold_s=self.hold_s)
                except (*TROUBLE, IntegrityFailure) as error:
                    if await self._spool(answer, error):
                        return None
                except Exception as error:  # refused, or a fault of our own: the answer is kept all the same
                    if await self._spool(answer, error):
                        raise
                await anyio.sleep(RETRY_S)
        finally:
            self.stuck.discard(packed.reply.lease.job)

    async def settle(self, judged: Judged) -> bool:
        """Settle a stored body; where nothing can be committed it stays unread, to be read again later."""
        try:
            return await self.store.write(settle, judged, hold_s=self.hold_s)
        except TROUBLE:
            self.unsettled.add(judged.response)
            return False

    async def persist(self, operation: Operation[Item, Result], item: Item) -> Result | None:
        """Write however long it takes; None where the run ends before it could be: its leases are rescued then."""
        while True:
            try:
                return await self.store.write(operation, item, hold_s=self.hold_s)
            except TROUBLE:
                if self.ending.draining:
                    return None
                await anyio.sleep(RETRY_S)

    def left_behind(self) -> ThinkledgerError | None:
        """What to say at the end of a run whose answers or leases could not be committed."""
        waiting = len(self.file.waiting)
        if not waiting:
            return self.unclean
        kind = type(self.trouble) if isinstance(self.trouble, TROUBLE) else Unavailable
        return kind(
            f"{answers_wait(waiting)} in the spool {self.file.path}, safe on disk ({self.trouble}). "
            "The next worker on this store brings in what waits; nothing is asked again for it."
        )

    async def _spool(self, answer: SpooledAnswer, reason: Exception) -> bool:
        """Whether the answer is in the spool now."""
        job = answer.reply.lease.job
        try:
            async with self.lock:
                await anyio.to_thread.run_sync(self.file.append, answer)
        except OSError as error:
            if job not in self.stuck:
                self.stuck.add(job)
                self._tell_full(error)
            return False
        self.trouble = as_ours(reason)
        if len(self.file.waiting) == 1:
            self._tell_spooling()
        return True

    def _tell_spooling(self) -> None:
        self.log.warning(
            "spooling",
            file=str(self.file.path),
            reason=str(self.trouble),
            advice="answers are safe there and are brought in by themselves when the store commits again",
        )

    def _tell_full(self, error: OSError) -> None:
        self.log.warning(
            "spool_full",
            file=str(self.file.path),
            reason=error.strerror,
            in_memory=len(self.stuck),
            advice="free some space: these answers are in memory only, and nothing is asked until they are stored",
        )


def spooled(packed: PackedReply, prompt: Prompt, store_id: str) -> SpooledAnswer:
    """The answer as the spool takes it."""
    about = (prompt.dataset, prompt.sample_id, prompt.replica, prompt.content_sha256)
    return SpooledAnswer(store_id, *about, packed.reply, packed.packed)


def as_ours(error: Exception) -> ThinkledgerError:
    """The error as one of ours."""
    return error if isinstance(error, ThinkledgerError) else ThinkledgerError(str(error))
