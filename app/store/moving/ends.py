"""Both ends of a copy: work is given as a function of a connection, and runs the same on a file and on a server."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import anyio
from anyio import to_thread
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.store import address, library
from app.store import place as places
from app.store.checkpoint import checkpoint
from app.store.engines import writing_engine
from app.store.faults import as_error, classify
from app.store.place import Place

Result = TypeVar("Result")
Work = Callable[[Connection], Result]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise as_error(classify(error), error) from error


@dataclass(frozen=True, slots=True)
class Held:
    """A store in one transaction that keeps every writer out, so that all of its rows are of one moment."""

    connection: Connection | AsyncConnection

    async def run(self, work: Work[Result]) -> Result:
        """What `work` returns; it may only read."""
        with _translated():
            if isinstance(self.connection, AsyncConnection):
                return await self.connection.run_sync(work)
            return await to_thread.run_sync(work, self.connection)
        raise AssertionError  # what is translated is raised


@dataclass(frozen=True, slots=True)
class Written:
    """A store that is being filled."""

    engine: Engine | AsyncEngine
    place: Place

    async def run(self, work: Work[Result]) -> Result:
        """What `work` returns, after the commit of its transaction."""
        result = await self._run(work)
        if isinstance(self.engine, Engine) and not library.is_fixed():  # SQLite does it by itself only where it is safe
            await checkpoint(self.engine, self.place)
        return result

    async def _run(self, work: Work[Result]) -> Result:
        with anyio.CancelScope(shield=True), _translated():
            if isinstance(self.engine, AsyncEngine):
                async with self.engine.begin() as connection:
                    return await connection.run_sync(work)
            return await to_thread.run_sync(self._transact, self.engine, work)
        raise AssertionError  # what is translated is raised

    @staticmethod
    def _transact(engine: Engine, work: Work[Result]) -> Result:
        with engine.begin() as connection:
            return work(connection)


@asynccontextmanager
async def held(place: Place) -> AsyncIterator[Held]:
    """Hold a store that this process has open; nothing is written to it."""
    if place.server is not None:
        from app.store.postgres.moving import holding

        with _translated():
            async with holding(place.server) as on_server:
                yield Held(on_server)
        return
    engine = writing_engine(place)
    try:
        with _translated():
            connection = await to_thread.run_sync(_hold, engine)
        try:
            yield Held(connection)
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(connection.close)
    finally:
        engine.dispose()


def _hold(engine: Engine) -> Connection:
    connection = engine.connect()
    connection.begin()  # takes the write lock
    return connection


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[Written]:
    """Open what a store is written to; where there is no file yet, an empty one is made."""
    if place.server is not None:
        address.need_driver()
        from app.store.postgres.engines import writing_engine as on_server

        server = on_server(place.server)
        try:
            yield Written(server, place)
        finally:
            with anyio.CancelScope(shield=True):
                await server.dispose()
        return
    places.check(place, create=True)
    engine = writing_engine(place)
    if not place.path.exists():
        os.close(os.open(place.path, os.O_CREAT | os.O_RDWR, 0o600))
    places.opened(place)
    try:
        yield Written(engine, place)
    finally:
        engine.dispose()
        places.closed(place)
