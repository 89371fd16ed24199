"""How many bytes of bodies are in memory at once, over all slots of a worker."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

MOST_BYTES = 2**30


class Memory:
    """A bound that readers wait for. One body may always grow, so that waiting comes to an end."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.used = 0
        self._most = most
        self._first: Body | None = None  # it may grow beyond the bound, until it is stored
        self._freed = anyio.Event()

    @contextmanager
    def body(self) -> Iterator["Body"]:
        """The account of one body, from its first byte until it is stored or given up."""
        body = Body(self)
        try:
            yield body
        finally:
            self._free(body)

    async def grow(self, body: "Body", size: int) -> None:
        """Wait until there is room for `size` more bytes of that body."""
        while self.used + size > self._most and self._first not in (None, body):
            await self._freed.wait()
        if self.used + size > self._most:
            self._first = body
        self.used += size
        body.size += size

    def _free(self, body: "Body") -> None:
        self.used -= body.size
        if self._first is body:
            self._first = None
        self._freed.set()
        self._freed = anyio.Event()


class Body:
    """What one body takes up."""

    def __init__(self, memory: Memory) -> None:
        self.size = 0
        self._memory = memory

    async def grow(self, size: int) -> None:
        """Account for `size` more bytes; waits where the bodies of all slots together are too large."""
        await self._memory.grow(self, size)
