"""The one writer of a process: it owns the writing connection, and commits what others ask for in groups.

Cancelling a task inside a database call can leave "database is locked" for ever, and more than half of the cancelled
commits had committed. So nobody else writes: callers send work and wait, and their cancellation touches no transaction.
A caller is answered after the commit of its group, never before.
"""

import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from app.model.errors import ThinkledgerError, Unavailable
from app.store.faults import Fault, as_error, classify
from app.store.transaction import Tx, at_once

Item = TypeVar("Item")
Result = TypeVar("Result")
Operation = Callable[[Tx, Sequence[Item]], Awaitable[Sequence[Result]]]

GROUP = 256  # requests that one transaction takes at most
_PAUSES_S = (0.05, 0.1, 0.2, 0.5, 1.0)  # the last one again and again
_ROW_ERRORS = (OverflowError, UnicodeEncodeError, ThinkledgerError)


@dataclass(eq=False, slots=True)
class Request:
    """What one caller asked for, and what came of it."""

    operation: Operation[Any, Any]
    item: Any
    until_s: float  # of the event loop's clock: from then on it is held no longer
    done: anyio.Event = field(default_factory=anyio.Event)
    result: Any = None
    error: BaseException | None = None


class Writer:
    """Turns single requests into groups, and each group into one transaction.

    `patient`: a group that meets a busy store or a full disk is held and tried again until it goes through, or until
    the writer is closed; otherwise its callers get the error at once. `on_trouble` is told at each failure, and with
    None once it is over. `guard` runs in front of each transaction and raises where nothing may be written any more;
    `between` runs after each group.
    """

    def __init__(
        self,
        engine: Engine,
        now_ms: Callable[[], int],
        *,
        patient: bool,
        on_trouble: Callable[[ThinkledgerError | None], None],
        guard: Callable[[], None] = lambda: None,
        between: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._engine = engine
        self._now_ms = now_ms
        self._patient = patient
        self._on_trouble = on_trouble
        self._guard = guard
        self._between = between
        self._thread = anyio.CapacityLimiter(1)  # not one of the threads that large bodies are read in
        self._queue: deque[Request] = deque()
        self._wake = anyio.Event()
        self._closing = False
        self._troubled = False  # the latest transaction met trouble of the store
        self._broken: BaseException | None = None  # nothing asked from now on is written

    async def do(
        self, operation: Operation[Item, Result], item: Item, *, first: bool = False, hold_s: float = math.inf
    ) -> Result:
        """Run `operation` on `item` in the next group; returns after its commit. `first` overtakes the queue.

        While nothing can be committed it is held for `hold_s` at most: then the store's trouble is raised, and it is
        not committed later either.
        """
        if self._broken is not None:
            raise self._broken
        request = Request(operation, item, anyio.current_time() + hold_s)
        if first:
            self._queue.appendleft(request)
        else:
            self._queue.append(request)
        self._wake.set()
        await request.done.wait()
        if request.error is not None:
            raise request.error
        result: Result = request.result
        return result

    def close(self) -> None:
        """Let `run` end once everything that was asked for is committed, or cannot be."""
        self._closing = True
        self._wake.set()

    async def run(self) -> None:
        """Commit groups until `close`. A damaged store ends it, after every waiting caller was told.

        It is raised here too where the writer is patient: a worker has nothing left to do. Who looks at the store can
        go on looking, and every later write is refused with the same sentence.
        """
        with anyio.CancelScope(shield=True):
            while not (self._closing and not self._queue):
                if not self._queue:
                    self._wake = anyio.Event()
                    await self._wake.wait()
                    continue
                await self._take([self._queue.popleft() for _ in range(min(GROUP, len(self._queue)))])
                if self._broken is not None:
                    return
                if self._between is not None:
                    await self._between()
        self._broken = Unavailable("The store is closed: nothing more is written to it.")

    async def _take(self, group: list[Request]) -> None:
        """Settle a group. What ends the writer, foreseen or not, is told to every caller: none may wait for ever."""
        try:
            await self._settle(group)
        except BaseException as error:
            self._end(group, error)
            raise

    def _end(self, group: list[Request], error: BaseException) -> None:
        self._broken = error
        answer([request for request in (*group, *self._queue) if not request.done.is_set()], error)
        self._queue.clear()

    async def _settle(self, group: list[Request]) -> None:
        """Commit the group; one bad row does not take its neighbours along."""
        error = await self._commit(group)
        if error is None:
            answer(group)
            return
        if len(group) > 1 and _fault_of(error) is Fault.ROW:
            for request in group:
                await self._settle([request])
            return
        if _fault_of(error) is Fault.DAMAGED:
            if self._patient:
                raise as_error(Fault.DAMAGED, error) from error
            self._end(group, _for_caller(error))
            return
        answer(group, _for_caller(error))

    async def _commit(self, group: list[Request]) -> BaseException | None:
        """One transaction for the group, again and again while the trouble is the store's and we are patient."""
        pauses = iter(_PAUSES_S)
        while group:
            self._guard()
            try:
                await self._transaction(group)
            except (DBAPIError, *_ROW_ERRORS) as error:
                fault = _fault_of(error)
                if fault in (Fault.ROW, Fault.DAMAGED) or not self._patient:
                    return error
                self._troubled = True
                self._on_trouble(_for_caller(error))
                if self._closing:
                    return error
                self._withdraw(group, error)
                await anyio.sleep(next(pauses, _PAUSES_S[-1]))
            else:
                self._note_success()
                break
        return None

    def _note_success(self) -> None:
        if self._troubled:
            self._troubled = False
            self._on_trouble(None)

    def _withdraw(self, group: list[Request], error: BaseException) -> None:
        """Tell those who wait no longer, in the group and behind it, what keeps them from being committed."""
        now_s = anyio.current_time()
        late = [request for request in (*group, *self._queue) if request.until_s <= now_s]
        group[:] = [request for request in group if request.until_s > now_s]
        self._queue = deque(request for request in self._queue if request.until_s > now_s)
        answer(late, _for_caller(error))

    async def _transaction(self, group: list[Request]) -> None:
        await to_thread.run_sync(self._transact, group, limiter=self._thread)

    def _transact(self, group: list[Request]) -> None:
        """All of it in one thread: to go there and back for each statement took more than the statements."""
        with self._engine.begin() as connection:
            tx = Tx(connection, self._now_ms())
            for operation, requests in by_operation(group):
                results = at_once(operation(tx, [request.item for request in requests]))
                for request, result in zip(requests, results, strict=True):
                    request.result = result


def answer(group: Sequence[Request], error: BaseException | None = None) -> None:
    """Wake the callers of a group."""
    for request in group:
        request.error = error
        request.done.set()


def by_operation(group: Sequence[Request]) -> list[tuple[Operation[Any, Any], list[Request]]]:
    """Requests of one operation together, operations in the order of their first request."""
    found: dict[Operation[Any, Any], list[Request]] = {}
    for request in group:
        found.setdefault(request.operation, []).append(request)
    return list(found.items())


def _fault_of(error: BaseException) -> Fault:
    if isinstance(error, DBAPIError | OverflowError | UnicodeEncodeError):
        return classify(error)
    return Fault.ROW


def _for_caller(error: BaseException) -> ThinkledgerError:
    """A foreign error is translated once, here; our own goes through as it is."""
    if isinstance(error, ThinkledgerError):
        return error
    translated = as_error(_fault_of(error), error)
    translated.__cause__ = error
    return translated
