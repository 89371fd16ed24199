"""How much is written to a store's WAL."""

from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.library import sqlite3


class Wal:
    """While it is open, the WAL grows by all that is written: an old snapshot keeps it from being begun anew.

    It begins empty: into the file of a WAL that was begun anew before, the first megabytes would go without a growth.
    """

    def __init__(self, db: Path) -> None:
        self._db = db

    def __enter__(self) -> Self:
        self._connection = sqlite3.connect(self._db, isolation_level=None)
        ((busy, *_),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert not busy
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT seq FROM meta").fetchall()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def bytes(self) -> int:
        """Its size now: pages of 4 KB, each with a header of 24 bytes."""
        return self._db.with_name(self._db.name + "-wal").stat().st_size
