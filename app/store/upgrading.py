"""The schema of an older store brought to this version's, in one transaction."""

from dataclasses import dataclass

import anyio
from anyio import to_thread
from sqlalchemy import Connection, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.model.errors import IntegrityFailure
from app.store import place as places
from app.store import schema
from app.store.engines import reading_engine, writing_engine
from app.store.faults import as_error, classify
from app.store.place import Place
from app.store.soundness import complaints, dangling
from app.store.tables import EVENT
from app.store.transaction import Reads, at_once


@dataclass(frozen=True, slots=True)
class Versions:
    """From which schema to which."""

    found: str
    wanted: str

    @property
    def same(self) -> bool:
        return self.found == self.wanted


async def versions(place: Place) -> Versions:
    """The store's schema and ours. Raises for a store without one, and for one that is newer than ours."""
    places.check(place, create=False)
    engine = reading_engine(place)
    try:
        async with engine.connect() as connection:
            found = await connection.run_sync(schema.present)
            broken = await complaints(Reads(connection), full=False)
    except DBAPIError as error:
        raise as_error(classify(error), error) from error
    finally:
        await _dispose(engine)
    if broken:
        raise IntegrityFailure(f"The store is damaged ({broken[0]}). Restore a backup first.")
    schema.refuse_unknown(found)
    return Versions(str(found), schema.NEWEST)


async def upgrade(place: Place, now_ms: int) -> None:
    """Run the migrations that are missing; after an error the store is as it was."""
    await to_thread.run_sync(_upgrade_file, place, now_ms)


def _upgrade_file(place: Place, now_ms: int) -> None:
    engine = writing_engine(place, upgrades=True)
    places.opened(place)
    try:
        with engine.begin() as connection:
            _upgrade(connection, now_ms)
            reads = Reads(connection)
            broken = [*at_once(dangling(reads)), *at_once(complaints(reads, full=False))]
            if broken:
                raise IntegrityFailure(f"The upgraded store would not be sound ({broken[0]}). Nothing was changed.")
    except DBAPIError as error:
        raise as_error(classify(error), error) from error
    finally:
        engine.dispose()
        places.closed(place)


def _upgrade(connection: Connection, now_ms: int) -> None:
    from app.store import migrations

    found = schema.present(connection)
    migrations.upgrade(connection)
    detail = f'{{"from": "{found}", "to": "{schema.NEWEST}"}}'
    connection.execute(insert(EVENT).values(at_ms=now_ms, kind="migrated", detail=detail))


async def _dispose(engine: AsyncEngine) -> None:
    with anyio.CancelScope(shield=True):
        await engine.dispose()
