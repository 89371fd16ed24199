"""A worker's sign of life: one row renewed four times a TTL, in the first place of the writer's queue."""

import anyio

from app.leasing.workers import renew
from app.model.ids import WorkerId
from app.store.store import Store
from worker.log import Log
from worker.shutdown import Ending


async def beat(store: Store, worker: WorkerId, ttl_s: float, ending: Ending, log: Log) -> None:
    """Renew until cancelled. A worker that was declared dead claims nothing more; its answers are still stored."""
    while True:
        await anyio.sleep(ttl_s / 4)
        if not await store.write(renew, worker, first=True):
            log.warning("declared_dead", worker=worker)
            ending.drain(None)
            return
