"""What a person sees while the worker runs: bars at a terminal, a line a minute elsewhere."""

import anyio

from app.store.store import Store
from worker.log import Log


async def show(store: Store, live: bool, log: Log) -> None:
    """Until cancelled."""
    await anyio.sleep_forever()
