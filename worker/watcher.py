"""Keeps an eye on one endpoint: waits until it is up, learns what it is, and notices when it hangs."""

import time
from dataclasses import dataclass, field

import anyio

from app.leasing.datasets import all_datasets
from app.model.config import DatasetConfig
from app.model.errors import CaptureFailed, UsageError
from app.model.lease import Cause
from app.model.verdicts import Verdict
from app.responses.endpoints import EndpointIdentity, see
from app.store.store import Store
from worker.backoff import RULES, cause_of_status
from worker.endpoint import AskFailed
from worker.identify import identify
from worker.log import Log
from worker.pool import SMALL_QUESTION, Pool, Server
from worker.preflight import LONGEST_S, Probe, probe, require_reasoning
from worker.reading import patiently
from worker.shutdown import Ending

RETRY_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
LOOK_EVERY_S = 5.0
_WHAT_TO_DO = (
    "The server is up and does not answer: look at its log and at its queue of requests; it is asked again. "
    "`worker start --skip-preflight` starts without this question."
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the watch waits, in seconds."""

    silent_s: float = 60.0  # with requests open and no byte for so long, ask /health
    health_s: float = 30.0  # a dead SGLang 0.5.8 says 503 only after 20 s
    reread_s: float = 300.0
    preflight_s: float = LONGEST_S


@dataclass(slots=True)
class Watcher:
    """The watch over one server. `wanted_model` is that of --model."""

    server: Server
    pool: Pool
    store: Store
    ending: Ending
    log: Log
    wanted_model: str | None
    raw_text: bool | None
    token_ids: bool
    stream: bool
    preflight: bool
    wanted: frozenset[str] | None  # dataset names; None: every dataset
    limits: Limits = field(default_factory=Limits)

    async def run(self) -> None:
        """Until cancelled: bring it up, watch it while it is well, and again."""
        while True:
            await self._bring_up()
            await self._watch()

    async def _bring_up(self) -> None:
        pauses = iter(RETRY_S)
        told: str | None = None
        while not self.ending.draining:
            await self._pause()
            reason = await self._look_again() if self.server.was_up else await self.look_closely()
            if reason is None:
                self.server.well = self.server.was_up = True
                self.log.info("endpoint_up", endpoint=self.server.endpoint.base_url, model=self.server.default_model)
                self.pool.wake()
                return
            self.server.well = False  # it may have been until this worker had to register again
            self.server.trouble = self.log.scrub(reason)
            if reason != told:
                self.log.warning("endpoint_not_ready", endpoint=self.server.endpoint.base_url, reason=reason)
                told = reason
            await anyio.sleep(next(pauses, RETRY_S[-1]))
        await anyio.sleep_forever()

    async def _pause(self) -> None:
        """Until an ill server may be looked at, or an answer shows that it is well."""
        pressure = self.server.pressure
        while pressure.ill and (left_s := pressure.look_at_s - time.monotonic()) > 0:
            await self.pool.change(left_s)

    async def look_closely(self) -> str | None:
        """Learn what the server is and, once, where its reasoning is; None, or the reason why it is not well.

        Raises what only a person can mend.
        """
        try:
            await self._learn()
            if self.preflight and not self.server.preflight_passed:
                await self._probe()
        except AskFailed as error:
            if RULES[error.cause].stops_worker and (error.cause is Cause.DENIED or not self.server.was_up):
                self.ending.stop_for_person(error.cause, self.server.endpoint.base_url)
            return str(error)
        return None

    async def _look_again(self) -> str | None:
        """The same for a server that has answered before: whatever it says now, the run goes on without it.

        One that is ill must answer a question too.
        """
        pressure = self.server.pressure
        try:
            reason = await self.look_closely()
            if reason is None and pressure.ill and pressure.wants_answer:
                await self._ask_small()
        except AskFailed as error:
            pressure.looked_ill(time.monotonic())
            return str(error)
        except (UsageError, CaptureFailed) as error:
            return str(error)
        if reason is None and pressure.ill:
            pressure.looked_well()
        return reason

    async def _ask_small(self) -> None:
        """Raises AskFailed where even a small question is not answered."""
        found = await probe(self.server, await self._config(), few=True, timeout_s=self.limits.preflight_s)
        if found.reading.verdict is Verdict.MALFORMED:
            raise self._refused(found)
        self.server.answered(SMALL_QUESTION)

    async def _probe(self) -> None:
        """One real answer before the first job. Raises AskFailed where none came, CaptureFailed without reasoning."""
        url, limit_s = self.server.endpoint.base_url, self.limits.preflight_s
        self.log.info("preflight_asks", endpoint=url, waits_at_most_s=limit_s)
        try:
            found = await probe(self.server, await self._config(), timeout_s=limit_s)
        except AskFailed as error:
            if error.cause is not Cause.TIMED_OUT:
                raise
            raise AskFailed(error.cause, f"the preflight question: {error}. {_WHAT_TO_DO}") from error
        if found.reading.verdict is Verdict.MALFORMED:
            raise self._refused(found)
        require_reasoning(found, url)
        tell = self.log.warning if found.reading.verdict is Verdict.TRUNCATED else self.log.info
        tell("preflight", endpoint=url, says=found.where, mode=found.mode)
        self.server.preflight_passed = True
        self.server.answered(SMALL_QUESTION)  # else prompts that are all bad use up no try

    def _refused(self, found: Probe) -> AskFailed:
        status = found.answer.status
        return AskFailed(Cause.MALFORMED if status == 200 else cause_of_status(status), found.where, status=status)

    async def _config(self) -> DatasetConfig:
        """The settings to ask the probe with: those of a dataset that expects thinking, if one does."""
        all_known = await patiently(lambda: all_datasets(self.store), self.ending)
        known = [d for d in all_known or () if self.wanted is None or d.name in self.wanted]
        chosen = sorted(known, key=lambda dataset: (not dataset.config.expected, dataset.rank))
        return chosen[0].config if chosen else DatasetConfig()

    async def _learn(self) -> None:
        server = self.server
        known = await identify(
            server.endpoint,
            self.wanted_model,
            raw_text=self.raw_text,
            token_ids=self.token_ids,
            stream=self.stream,
            timeout_s=self.limits.health_s,
        )
        server.models, server.default_model, server.dialect = known.models, known.model.id, known.dialect
        identity = EndpointIdentity(server.endpoint.base_url, known.model.id, known.fingerprint)
        server.number = await self.store.write(see, identity)

    async def _watch(self) -> None:
        """Until the server is no longer well."""
        read_at = time.monotonic()
        while self.server.is_well():
            await self.pool.change(min(LOOK_EVERY_S, self.limits.silent_s))
            if self.server.is_well() and self._is_silent() and not await self._is_healthy():
                self.log.warning("endpoint_hangs", endpoint=self.server.endpoint.base_url, open=self.server.busy)
                self.pool.hold(self.server, "it hangs: no byte comes, and /health fails", wants_answer=False)
                self.server.endpoint.cut()
            elif self.server.is_well() and time.monotonic() - read_at > self.limits.reread_s:
                read_at = time.monotonic()
                await self._reread()

    def _is_silent(self) -> bool:
        return self.server.busy > 0 and time.monotonic() - self.server.endpoint.last_byte_s > self.limits.silent_s

    async def _is_healthy(self) -> bool:
        """Whether one of two looks at /health goes well, or an answer comes meanwhile.

        A quiet server that is well is only thinking.
        """
        for _ in range(2):
            try:
                status, _ = await self.server.endpoint.get("/health", self.limits.health_s)
            except AskFailed as error:
                status = 200 if error.cause is Cause.OUT_OF_FILES else 500  # that says nothing of the server
            if status < 500:
                self.server.endpoint.last_byte_s = time.monotonic()
            if not self._is_silent():
                return True
        return False

    async def _reread(self) -> None:
        """A server that was restarted with other flags is another identity; one that cannot be read stays as known."""
        before = self.server.number
        url = self.server.endpoint.base_url
        try:
            await self._learn()
        except (AskFailed, UsageError) as error:
            self.log.warning("endpoint_unreadable", endpoint=url, reason=str(error))
        if self.server.number != before:
            self.log.warning("server_changed", endpoint=url, model=self.server.default_model)
