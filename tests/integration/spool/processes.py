"""Workers that die by kill -9 at a chosen moment: `python -m tests.integration.spool.processes VERB STORE`."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from app.responses.spooled import Spooled, bring_in
from app.spool.file import SpoolFile, create
from tests.integration.spool import kit
from tests.support.filled import Filled, filled, thought


async def _spool_one(room: Filled) -> SpoolFile:
    await room.dataset("data", 2)
    (lease,) = await room.claim(1)
    room.store.place.spool.mkdir()
    file = create(room.store.place.spool / "dead", 1 << 16)
    file.append(kit.spooled(room, lease, "s1", thought(1)))
    return file


async def die_after_fsync(room: Filled) -> None:
    """The answer is in the spool, and no commit was tried."""
    await _spool_one(room)
    os.kill(os.getpid(), signal.SIGKILL)


async def die_after_commit(room: Filled) -> None:
    """The answer is in the store, and its record not yet marked."""
    file = await _spool_one(room)
    await room.store.write(bring_in, Spooled(file.load(file.waiting[0]), room.worker))
    os.kill(os.getpid(), signal.SIGKILL)


VERBS: dict[str, Callable[[Filled], Awaitable[None]]] = {
    "die_after_fsync": die_after_fsync,
    "die_after_commit": die_after_commit,
}


async def main(verb: str, path: str) -> None:
    async with filled(Path(path)) as room:
        await VERBS[verb](room)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
