"""Tells the store which servers may be asked, so that pages and alarms know; only what has changed is written."""

import anyio

from app.gates.health import Found, note_health
from app.model.ids import WorkerId
from app.progress.display import visible
from app.store.store import Store
from worker.pool import Pool, Server
from worker.spooling import TROUBLE

LOOK_S = 1.0
LONGEST = 500  # characters of a reason


async def tell_health(store: Store, worker: WorkerId, pool: Pool) -> None:
    """Look every second until cancelled. What a store in trouble does not take is told once it does."""
    told: dict[str, Found] = {}
    while True:
        for server in pool.servers:
            now = _found(worker, server)
            if told.get(now.base_url) != now and await _tell(store, now):
                told[now.base_url] = now
        await anyio.sleep(LOOK_S)


def _found(worker: WorkerId, server: Server) -> Found:
    trouble = None if server.is_well() else visible(server.trouble)[:LONGEST]  # a server's words hold anything
    return Found(worker, server.endpoint.base_url, trouble)


async def _tell(store: Store, now: Found) -> bool:
    try:
        await store.write(note_health, now, hold_s=LOOK_S)
    except TROUBLE:  # those who store answers tell of it
        return False
    return True
