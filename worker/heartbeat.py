"""A worker's sign of life, renewed four times a TTL in the first place of the writer's queue; and its ear."""

import anyio

from app.leasing.workers import is_asked_to_drain, renew
from app.model.errors import ThinkledgerError
from app.model.exits import Exit
from app.model.ids import WorkerId
from app.store.store import Store
from worker.log import Log
from worker.shutdown import Ending

EAR_S = 2.0  # how long a request to drain waits to be heard


async def beat(store: Store, worker: WorkerId, ttl_s: float, ending: Ending, log: Log) -> None:
    """Renew until cancelled. A worker that was declared dead claims nothing more; its answers are still stored."""
    while True:
        await anyio.sleep(ttl_s / 4)
        if not await store.write(renew, worker, first=True):
            log.warning("declared_dead", worker=worker)
            ending.drain(None)
            return


async def obey(store: Store, worker: WorkerId, ending: Ending, log: Log) -> None:
    """Drain when a person asks for it in the store, as the page of workers does."""
    while True:
        if await _asked(store, worker):
            log.info("draining", reason="asked for")
            ending.drain(Exit.DONE)
            return
        await anyio.sleep(EAR_S)


async def _asked(store: Store, worker: WorkerId) -> bool:
    try:
        return await is_asked_to_drain(store, worker)
    except ThinkledgerError:
        return False  # a store that cannot be read now is told of by those who write to it
