"""The writer of a process on PostgreSQL: the same groups, each a transaction beside those of other hosts.

A deadlock or a serialisation failure is begun anew at once. Where the connection is lost while a COMMIT is under way,
the server is asked what became of that transaction, by its number; so nothing is done twice, and nothing is lost.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import anyio
from sqlalchemy import CursorResult, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.sql.base import Executable

from app.store.beside import beside, may_be_beside
from app.store.postgres.clock import ServerClock
from app.store.sqlstates import UNKNOWN, may_go_through
from app.store.transaction import Params, Tx
from app.store.writer import Request, Writer, by_operation

TRIES = 10  # of a group that the server takes back
_LOOK_S = 0.2
_BEGIN = text("SELECT begin_writing(:beside_others, :patience) AS now_ms, pg_current_xact_id()::text AS number")
_NEXT_SEQ = select(func.next_seq())
_OUTCOME = text("SELECT pg_xact_status(CAST(:number AS TEXT)::xid8)")


class ServerTx(Tx):
    """A transaction whose number is that of PostgreSQL's own: it orders, and nobody waits for it."""

    async def _take_seq(self) -> int:
        return int(await self.value(_NEXT_SEQ))

    async def _run(self, statement: Executable, params: Params | Sequence[Params] | None) -> CursorResult[Any]:
        own = beside(statement)
        if own is None:
            return await super()._run(statement, params)
        if own.first is not None:
            await super()._run(own.first, params)
        return await super()._run(statement if own.instead is None else own.instead, params)


class ServerWriter(Writer):
    """Commits groups through an asyncpg connection."""

    def __init__(
        self, engine: AsyncEngine, now_ms: Callable[[], int], clock: ServerClock, patience_ms: int, **options: Any
    ) -> None:
        super().__init__(engine.sync_engine, now_ms, **options)
        self._server, self._clock, self._patience = engine, clock, f"{patience_ms}ms"
        self._doubt: tuple[Sequence[Request], int] | None = (
            None  # a group whose COMMIT was not answered, and its number
        )

    async def _transaction(self, group: Sequence[Request]) -> None:
        for tried in count(1):
            if await self._was_committed(group):
                return
            try:
                await self._try(group)
            except DBAPIError as error:
                if not error.connection_invalidated:
                    self._doubt = None  # the server has answered: it was taken back
                if tried == TRIES or not may_go_through(str(getattr(error.orig, "sqlstate", None))):
                    raise
            else:
                return

    async def _was_committed(self, group: Sequence[Request]) -> bool:
        """Whether a COMMIT without an answer was this group's, and was done.

        Nothing is begun before that is known: whoever was told of the trouble and looks what came of it sees the end.
        """
        if self._doubt is None:
            return False
        doubtful, number = self._doubt
        committed = await self._is_committed(number)
        self._doubt = None
        return committed and doubtful is group

    async def _try(self, group: Sequence[Request]) -> None:
        async with self._server.connect() as connection:
            tx, number = await self._begin(connection, group)
            for operation, requests in by_operation(group):
                results = await operation(tx, [request.item for request in requests])
                for request, result in zip(requests, results, strict=True):
                    request.result = result
            self._doubt = group, number
            await connection.commit()
            self._doubt = None

    async def _begin(self, connection: AsyncConnection, group: Sequence[Request]) -> tuple[ServerTx, int]:
        """The transaction, and PostgreSQL's number of it. The server's clock is read on the way."""
        together = all(may_be_beside(request.operation) for request in group)
        begun = (await connection.execute(_BEGIN, {"beside_others": together, "patience": self._patience})).one()
        self._clock.tell(int(begun.now_ms))
        return ServerTx(connection, self._now_ms()), int(begun.number)

    async def _is_committed(self, number: int) -> bool:
        """What became of a transaction whose COMMIT was not answered; waits while it is under way."""
        while True:
            try:
                async with self._server.connect() as connection:
                    status = (await connection.execute(_OUTCOME, {"number": str(number)})).scalar_one()
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) == UNKNOWN:
                    return False
                raise
            if status != "in progress":
                return bool(status == "committed")
            await anyio.sleep(_LOOK_S)
