"""Reads of a worker: a store that is away for a while ends no run, it is asked again."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from worker.shutdown import Ending
from worker.spooling import RETRY_S, TROUBLE

Result = TypeVar("Result")


async def patiently(read: Callable[[], Awaitable[Result]], ending: Ending) -> Result | None:
    """What the store says, however long it cannot be asked; None where the run is to end meanwhile.

    The writer tells of the trouble: it beats, and so meets the same.
    """
    while True:
        try:
            return await read()
        except TROUBLE:
            if ending.draining:
                return None
            await anyio.sleep(RETRY_S)
