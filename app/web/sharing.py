"""Work that several ask for at about the same time is done once, for all of them."""

import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

Result = TypeVar("Result")


@dataclass(eq=False, slots=True)
class _Making(Generic[Result]):
    begun_s: float
    over: anyio.Event = field(default_factory=anyio.Event)
    results: list[Result] = field(default_factory=list)  # one, or none: it failed or was cancelled
    error: Exception | None = None


class Sharing(Generic[Result]):
    """Makes the result of a key, and gives one that is new enough to all who ask for it.

    What was begun no earlier than the asker's `since_s` will do, whether it is over or under way. Nothing that was
    begun longer than `keep_s` ago is kept.
    """

    def __init__(self, keep_s: float, now_s: Callable[[], float] = time.monotonic) -> None:
        self._keep_s = keep_s
        self._now_s = now_s
        self._latest: dict[Hashable, _Making[Result]] = {}

    async def made(self, key: Hashable, make: Callable[[], Awaitable[Result]], since_s: float) -> Result:
        """The result of `make`, or of another's for the same key. An error is that of all who wait."""
        while True:
            making = self._latest.get(key)
            if making is None or making.begun_s < since_s:
                return await self._make(key, make)
            await making.over.wait()
            if making.error is not None:
                raise making.error
            if making.results:
                return making.results[0]
            # Whoever made it was cancelled: one of those who wait does it.

    async def _make(self, key: Hashable, make: Callable[[], Awaitable[Result]]) -> Result:
        self._forget()
        making = self._latest[key] = _Making(self._now_s())
        try:
            making.results.append(await make())
        except Exception as error:
            making.error = error
            raise
        finally:
            if not making.results and self._latest.get(key) is making:
                del self._latest[key]
            making.over.set()
        return making.results[0]

    def _forget(self) -> None:
        old_s = self._now_s() - self._keep_s
        for key in [key for key, one in self._latest.items() if one.over.is_set() and one.begun_s < old_s]:
            del self._latest[key]
