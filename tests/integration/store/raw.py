"""Opens a store past the store: a file with the process's one SQLite, or while nobody has it open.

`connection`, `query` and `script` open a database of a server where the test runs on that.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import app.store  # noqa: F401 - the SQLite library first

import sqlite3  # isort: skip

from tests.support.kinds import db, kind

OperationalError = sqlite3.OperationalError


@contextmanager
def connection(path: Path | str, *, waits: float = 60) -> Iterator[Any]:
    """A connection of its own, in autocommit, that waits `waits` seconds for a lock.

    A server or worker may be writing at that moment: only a test about the lock itself says `waits=0`. Threads may use
    it, one at a time.
    """
    if kind() == "postgresql":
        from tests.support.postgres import plainly

        with plainly(db(path)) as beside:
            yield beside
        return
    opened = sqlite3.connect(path, isolation_level=None, timeout=waits, check_same_thread=False)
    try:
        yield opened
    finally:
        opened.close()


def query(path: Path | str, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """Run one statement and return its rows."""
    with connection(path) as opened:
        return opened.execute(sql, values).fetchall()


def script(path: Path | str, *statements: str) -> None:
    """Run statements, each by itself."""
    with connection(path) as opened:
        for statement in statements:
            opened.execute(statement)


def lock(opened: Any) -> None:
    """Begin a transaction on such a connection that keeps every writer out, as who is alone does."""
    if kind() == "sqlite":
        opened.execute("BEGIN IMMEDIATE")
    else:
        opened.execute("BEGIN")
        opened.execute("LOCK TABLE gate IN SHARE ROW EXCLUSIVE MODE")


def header(path: Path) -> bytes:
    """The first hundred bytes of a file that nobody has open."""
    with path.open("rb") as file:
        return file.read(100)


def spoil(path: Path, tables: Sequence[str]) -> None:
    """Overwrite the first page of some tables, of a store that nobody has open."""
    with connection(path) as opened:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = opened.execute("PRAGMA page_size").fetchone()
        pages = [
            opened.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
            for table in tables
        ]
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(b"\xa5" * size)
