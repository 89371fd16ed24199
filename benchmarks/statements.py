"""Which statements a piece of work runs, and what they take SQLite alone, without drivers and threads."""

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import event

from app.store.store import Store
from benchmarks.library import sqlite3

Ran = tuple[str, Any]


@contextmanager
def recorded(store: Store) -> Iterator[list[Ran]]:
    """The statements that are run within, with their values; many rows at once as a list of them."""
    ran: list[Ran] = []

    def note(_connection: Any, _cursor: Any, sql: str, values: Any, *_: Any) -> None:
        if not sql.startswith("BEGIN"):
            ran.append((sql, values))

    engines = [store._writer._engine, store._reader.sync_engine, store._looker]
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield ran
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


class Replayer:
    """A connection of our own on which statements are run again. What they write is rolled back."""

    def __init__(self, db: Path) -> None:
        self._connection = sqlite3.connect(db, isolation_level=None)
        self._connection.execute("PRAGMA cache_size=-16384")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def seconds(self, ran: Sequence[Ran]) -> float:
        """CPU time of the statements in one transaction, without its commit."""
        begun = time.thread_time()
        self._connection.execute("BEGIN")
        for sql, values in ran:
            if isinstance(values, list):
                self._connection.executemany(sql, values)
            else:
                self._connection.execute(sql, values).fetchall()
        taken = time.thread_time() - begun
        self._connection.execute("ROLLBACK")
        return taken


def in_turn(rounds: int, *sides: tuple[Replayer, Sequence[Ran]]) -> list[float]:
    """The median of each side's times, one of each a round."""
    taken = [[replayer.seconds(ran) for replayer, ran in sides] for _ in range(rounds)]
    return [statistics.median(side) for side in zip(*taken, strict=True)]
