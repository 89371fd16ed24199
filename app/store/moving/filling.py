"""What is done to a store that rows are put into as they are: no trigger counts them, and nobody else uses it.

Until `finish` the store has a schema version of its own, which every other command refuses; so a copy that was cut off
is never taken for a store. Rows are put in the order of their keys, so where it was cut off is what is there.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert, inspect, select, text, update
from sqlalchemy.sql.expression import TableClause

from app.model.errors import Refused
from app.store import schema
from app.store.moving.rows import Row
from app.store.tables import META
from app.store.triggers import SQLITE_TRIGGERS

# What is not set anew at the end, so that it tells one store from another.
KEPT = ("id", "store_id", "created_ms", "parser_version", "backup_ms", "backup_seq")


def meta_of(connection: Connection) -> dict[str, Any]:
    """The row about the store itself."""
    return dict(connection.execute(select(META)).mappings().one())


def begin(connection: Connection, meta: dict[str, Any], shown: str) -> bool:
    """Make ready to be filled with the store that `meta` is of; whether it was begun before.

    Raises Refused for a database that holds anything else.
    """
    if _on_server(connection):
        from app.store.postgres import moving

        moving.only_one(connection, shown)
    found = schema.present(connection)
    if found == schema.BEING_FILLED:
        _refuse_other(connection, meta, shown)
        return True
    if found is not None or inspect(connection).get_table_names():
        what = "a store" if found is not None else "tables of something else"
        raise Refused(f"{shown} holds {what} already, and nothing in it was touched. Name a new file or database.")
    schema.ensure(connection)
    _stop_triggers(connection)
    on_server = _on_server(connection)
    connection.execute(insert(META).values({name: meta[name] for name in (*KEPT, *(() if on_server else ("seq",)))}))
    schema.mark(connection, schema.BEING_FILLED)
    return False


def _refuse_other(connection: Connection, meta: dict[str, Any], shown: str) -> None:
    begun = meta_of(connection)
    if begun["store_id"] != meta["store_id"]:
        raise Refused(
            f"{shown} holds a part of another store, whose copy was cut off. Go on with that one, or name a new file "
            "or database."
        )


def put(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Add rows as they are."""
    into: Table | TableClause = table
    if _on_server(connection):
        from app.store.postgres import moving

        into = moving.written_as(table)
    names = table.columns.keys()
    connection.execute(insert(into), [dict(zip(names, row, strict=True)) for row in rows])


def start_triggers(connection: Connection) -> None:
    """From here on the store counts again by itself."""
    if _on_server(connection):
        from app.store.postgres import moving

        moving.triggers(connection, "ENABLE")
        return
    for trigger in SQLITE_TRIGGERS:
        connection.exec_driver_sql(trigger)


def go_on_behind(connection: Connection, seq: int) -> None:
    """The next number of the store, and the next id of each table, are behind those that its rows have."""
    if _on_server(connection):
        from app.store.postgres import moving

        moving.go_on_behind(connection, seq)
    else:
        connection.execute(update(META).values(seq=seq + 1))


def finish(connection: Connection) -> None:
    """It is a store from now on."""
    schema.mark(connection, schema.NEWEST)


def _stop_triggers(connection: Connection) -> None:
    if _on_server(connection):
        from app.store.postgres import moving

        moving.triggers(connection, "DISABLE")
        return
    names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
    for name in names:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")


def _on_server(connection: Connection) -> bool:
    return connection.dialect.name != "sqlite"
