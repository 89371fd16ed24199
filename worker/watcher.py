"""Keeps an eye on one endpoint: waits until it is up, learns what it is, and notices when it hangs."""

import time
from dataclasses import dataclass

import anyio

from app.leasing.datasets import all_datasets
from app.model.config import DatasetConfig
from app.model.lease import Cause
from app.model.verdicts import Verdict
from app.responses.endpoints import EndpointIdentity, see
from app.store.store import Store
from worker.backoff import RULES, cause_of_status
from worker.endpoint import AskFailed
from worker.identify import identify
from worker.log import Log
from worker.pool import Pool, Server
from worker.preflight import probe, require_reasoning
from worker.shutdown import Ending

RETRY_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
LOOK_EVERY_S = 5.0
SILENT_S = 60.0  # with requests open and no byte for so long, ask /health
REREAD_S = 300.0


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
    _passed: bool = False

    async def run(self) -> None:
        """Until cancelled: bring it up, watch it while it is well, and again."""
        while True:
            await self._bring_up()
            await self._watch()

    async def _bring_up(self) -> None:
        pauses = iter(RETRY_S)
        told: str | None = None
        while not self.ending.draining:
            reason = await self.look_closely()
            if self.server.is_well():
                self.log.info("endpoint_up", endpoint=self.server.endpoint.base_url, model=self.server.default_model)
                self.pool.wake()
                return
            if reason != told:
                self.log.warning("endpoint_not_ready", endpoint=self.server.endpoint.base_url, reason=reason)
                told = reason
            await anyio.sleep(next(pauses, RETRY_S[-1]))
        await anyio.sleep_forever()

    async def look_closely(self) -> str | None:
        """Learn what the server is and, once, where its reasoning is; None, or the reason why it is not well."""
        url = self.server.endpoint.base_url
        try:
            await self._learn()
            if self.preflight and not self._passed:
                await self._probe()
        except AskFailed as error:
            if RULES[error.cause].stops_worker:
                self.ending.stop_for_person(error.cause, url)
            return str(error)
        self.server.well = True
        return None

    async def _probe(self) -> None:
        """One real answer before the first job. Raises AskFailed where none came, CaptureFailed without reasoning."""
        url = self.server.endpoint.base_url
        found = await probe(self.server, await self._config())
        if found.reading.verdict is Verdict.MALFORMED:
            status = found.answer.status
            raise AskFailed(Cause.MALFORMED if status == 200 else cause_of_status(status), found.where, status=status)
        require_reasoning(found, url)
        tell = self.log.warning if found.reading.verdict is Verdict.TRUNCATED else self.log.info
        tell("preflight", endpoint=url, says=found.where, mode=found.mode)
        self._passed = True

    async def _config(self) -> DatasetConfig:
        """The settings to ask the probe with: those of a dataset that expects thinking, if one does."""
        known = [d for d in await all_datasets(self.store) if self.wanted is None or d.name in self.wanted]
        chosen = sorted(known, key=lambda dataset: (not dataset.config.expected, dataset.rank))
        return chosen[0].config if chosen else DatasetConfig()

    async def _learn(self) -> None:
        server = self.server
        known = await identify(
            server.endpoint, self.wanted_model, raw_text=self.raw_text, token_ids=self.token_ids, stream=self.stream
        )
        server.models, server.default_model, server.dialect = known.models, known.model.id, known.dialect
        identity = EndpointIdentity(server.endpoint.base_url, known.model.id, known.fingerprint)
        server.number = await self.store.write(see, identity)

    async def _watch(self) -> None:
        """Until the server is no longer well."""
        read_at = time.monotonic()
        while self.server.is_well():
            await self.pool.change(LOOK_EVERY_S)
            if self.server.is_well() and self._is_silent() and not await self._is_healthy():
                self.log.warning("endpoint_hangs", endpoint=self.server.endpoint.base_url, open=self.server.busy)
                self.server.well = False
                self.server.endpoint.cut()
            elif self.server.is_well() and time.monotonic() - read_at > REREAD_S:
                read_at = time.monotonic()
                await self._reread()

    def _is_silent(self) -> bool:
        return self.server.busy > 0 and time.monotonic() - self.server.endpoint.last_byte_s > SILENT_S

    async def _is_healthy(self) -> bool:
        """Whether one of two looks at /health goes well; a quiet server that is well is only thinking."""
        for _ in range(2):
            try:
                status, _ = await self.server.endpoint.get("/health")
            except AskFailed:
                continue
            if status < 500:
                self.server.endpoint.last_byte_s = time.monotonic()
                return True
        return False

    async def _reread(self) -> None:
        """A server that was restarted with other flags is another identity."""
        before = self.server.number
        reason = await self.look_closely()
        if reason is not None:
            self.log.warning("endpoint_unreadable", endpoint=self.server.endpoint.base_url, reason=reason)
        elif self.server.number != before:
            self.log.warning("server_changed", endpoint=self.server.endpoint.base_url, model=self.server.default_model)
