"""What the stations may do inside a transaction or a snapshot: run named statements, nothing else."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, CursorResult, Row, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.base import Executable

from app.model.ids import Seq
from app.store.tables import META

Params = Mapping[str, Any]
_NEXT_SEQ = update(META).where(META.c.id == 1).values(seq=META.c.seq + 1).returning(META.c.seq)
Result = TypeVar("Result")


class Reads:
    """Reading, in one consistent view of the store."""

    def __init__(self, connection: AsyncConnection | Connection) -> None:
        self._connection = connection

    @property
    def on_server(self) -> bool:
        """Whether the store is a database of a server, not a file."""
        return self._connection.dialect.name != "sqlite"

    async def _run(self, statement: Executable, params: Params | Sequence[Params] | None) -> CursorResult[Any]:
        """On a connection of this thread nothing is waited for: see `at_once`."""
        if isinstance(self._connection, Connection):
            return self._connection.execute(statement, params)
        return await self._connection.execute(statement, params)

    async def rows(self, statement: Executable, params: Params | None = None) -> Sequence[Row[Any]]:
        """All rows; fetched to the end, so that no cursor pins the WAL."""
        return (await self._run(statement, params)).all()

    async def first(self, statement: Executable, params: Params | None = None) -> Row[Any] | None:
        """The first row, or None."""
        return (await self._run(statement, params)).first()

    async def value(self, statement: Executable, params: Params | None = None) -> Any:
        """The first column of the first row, or None."""
        row = await self.first(statement, params)
        return None if row is None else row[0]


class Tx(Reads):
    """Writing. A transaction that changes rows gets the next number of the store."""

    def __init__(self, connection: AsyncConnection | Connection, now_ms: int) -> None:
        super().__init__(connection)
        self.now_ms = now_ms
        self._seq: Seq | None = None

    async def seq(self) -> Seq:
        """The number of this transaction; the first call takes it, so ask only when rows change."""
        if self._seq is None:
            self._seq = Seq(await self._take_seq())
        return self._seq

    async def _take_seq(self) -> int:
        return int(await self.value(_NEXT_SEQ))

    async def run(self, statement: Executable, params: Params | None = None) -> int:
        """Run one statement to its end; the number of rows it changed. A cursor left open would keep out the COMMIT."""
        result = await self._run(statement, params)
        return len(result.all()) if result.returns_rows else int(result.rowcount)

    async def many(self, statement: Executable, params: Sequence[Params]) -> None:
        """Run one statement for each of `params`; for inserts whose effect is read back by the caller."""
        if params:
            await self._run(statement, list(params))


def at_once(work: Awaitable[Result]) -> Result:
    """What an operation on a transaction comes to. It awaits nothing but its transaction, which never lets it wait."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise RuntimeError("an operation of the store waited for something else than its transaction")
