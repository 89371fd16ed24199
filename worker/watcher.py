"""Keeps an eye on one endpoint: waits until it is up, learns what it is, and notices when it hangs."""

import time
from dataclasses import dataclass

import anyio

from app.model.errors import UsageError
from app.model.lease import Cause
from app.responses.endpoints import EndpointIdentity, see
from app.store.store import Store
from worker.endpoint import AskFailed
from worker.fingerprint import Model, dialect_of, fingerprint_of, models_of
from worker.log import Log
from worker.pool import Pool, Server
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

    async def run(self) -> None:
        """Until cancelled: bring it up, watch it while it is well, and again."""
        while True:
            await self._bring_up()
            await self._watch()

    async def _bring_up(self) -> None:
        pauses = iter(RETRY_S)
        told = False
        while not self.ending.draining:
            reason = await self.look_closely()
            if self.server.is_well():
                self.log.info("endpoint_up", endpoint=self.server.endpoint.base_url, model=self.server.default_model)
                self.pool.wake()
                return
            if not told:
                self.log.warning("endpoint_not_ready", endpoint=self.server.endpoint.base_url, reason=reason)
                told = True
            await anyio.sleep(next(pauses, RETRY_S[-1]))
        await anyio.sleep_forever()

    async def look_closely(self) -> str | None:
        """Read health, models and fingerprint. The server is well after it, or the reason why not is returned."""
        endpoint = self.server.endpoint
        try:
            health, _ = await endpoint.get("/health")
            if health >= 500:
                return f"GET /health says {health}"
            status, listing = await endpoint.get(self._models_path())
            _, info = await endpoint.get("/server_info")
        except AskFailed as error:
            return str(error)
        if status in (401, 403):
            self.ending.stop_for_person(Cause.DENIED, endpoint.base_url)
            return f"GET /models says {status}"
        models = models_of(listing) if status == 200 else []
        if status == 404 or (status == 200 and not models):
            self.ending.stop_for_person(Cause.NO_SUCH_MODEL, endpoint.base_url)
            return f"GET /models says {status} and lists no model"
        if not models:
            return f"GET /models says {status}"
        await self._learn(models, info)
        return None

    def _models_path(self) -> str:
        return self.server.endpoint.base_url.removeprefix(self.server.endpoint.root) + "/models"

    async def _learn(self, models: list[Model], info: object) -> None:
        model = self._choose(models)
        identity = EndpointIdentity(self.server.endpoint.base_url, model.id, fingerprint_of(info, model))
        self.server.models = {known.id: known for known in models}
        self.server.default_model = model.id
        self.server.dialect = dialect_of(
            info, model, raw_text=self.raw_text, token_ids=self.token_ids, stream=self.stream
        )
        self.server.number = await self.store.write(see, identity)
        self.server.well = True

    def _choose(self, models: list[Model]) -> Model:
        """The model of --model, or the only one listed: SGLang answers 200 for any name, so an answer proves nothing."""
        listed = ", ".join(model.id for model in models)
        if self.wanted_model is not None:
            found = [model for model in models if model.id == self.wanted_model]
            if not found:
                raise UsageError(
                    f"{self.server.endpoint.base_url} does not serve {self.wanted_model}; it lists {listed}."
                )
            return found[0]
        if len(models) > 1:
            raise UsageError(
                f"{self.server.endpoint.base_url} lists several models: {listed}. Choose one with --model."
            )
        return models[0]

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
