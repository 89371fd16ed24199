"""The read-only door to a store: a statement of a person's own, which can change nothing whatever it says."""

import sqlite3
from collections.abc import Callable, Sequence

from app.model.errors import UsageError
from app.store.apart import apart
from app.store.place import Place

ROWS = 500  # that are handed out at a time

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)  # no PRAGMA, which could switch the protection off; no ATTACH, which could make files

Show = Callable[[Sequence[str], Sequence[tuple[object, ...]]], None]  # the columns, and some rows


async def look(place: Place, statement: str, show: Show) -> None:
    """Run one SELECT in a snapshot of its own and hand its rows to `show`, a few hundred at a time."""
    await apart(place, lambda connection: _look(connection, statement, show))


def _look(connection: sqlite3.Connection, statement: str, show: Show) -> None:
    connection.execute("PRAGMA query_only=ON")
    connection.text_factory = lambda text: text.decode(errors="replace")
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
    try:
        cursor = connection.execute(statement)
    except (sqlite3.DatabaseError, sqlite3.ProgrammingError, sqlite3.Warning) as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        if name == "SQLITE_AUTH":
            raise UsageError(f"Only SELECT is let through ({error}). Nothing was changed.") from error
        if name == "SQLITE_ERROR":
            raise UsageError(f"That is no statement that can be answered here: {error}.") from error
        raise
    columns = [column[0] for column in cursor.description or ()]
    show(columns, [])
    while rows := cursor.fetchmany(ROWS):
        show(columns, rows)
