"""The reference of the store: the least that keeps prompts and answers durably, in raw sqlite3, in batches.

One table, one index, WAL and synchronous FULL, one transaction a batch. It has no fence, no leases that end, no
verdicts, no counters and no history: what it shows is what the same bytes cost SQLite and its driver.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import batches
from benchmarks.library import sqlite3

BATCH = 64


class RawStore:
    """A queue and its answers in one table."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-16384", "temp_store=MEMORY"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(
            "CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT NOT NULL DEFAULT 'ready', prompt TEXT NOT NULL,"
            " body BLOB, reasoning TEXT, content TEXT) STRICT"
        )
        self._connection.execute("CREATE INDEX job_ready ON job (id) WHERE state = 'ready'")

    def close(self) -> None:
        """The last connection's end brings the WAL into the file."""
        self._connection.close()

    def enqueue(self, prompts: Sequence[str]) -> None:
        """Add jobs."""
        self._many("INSERT INTO job (prompt) VALUES (?)", [(prompt,) for prompt in prompts])

    def claim(self, count: int) -> list[tuple[int, str]]:
        """The next jobs, with their prompts."""
        self._connection.execute("BEGIN IMMEDIATE")
        rows = self._connection.execute(
            "UPDATE job SET state = 'leased' WHERE id IN (SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT ?)"
            " RETURNING id, prompt",
            (count,),
        ).fetchall()
        self._connection.execute("COMMIT")
        return rows

    def complete(self, answers: Sequence[tuple[bytes, str, str, int]]) -> None:
        """Store body, reasoning and content of jobs."""
        self._many("UPDATE job SET state = 'done', body = ?, reasoning = ?, content = ? WHERE id = ?", answers)

    def _many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(statement, rows)
        self._connection.execute("COMMIT")


def cycle(store: RawStore, prompts: Sequence[str], answers: Sequence[tuple[bytes, str, str]]) -> None:
    """Everything enqueued, claimed and completed, a batch at a time."""
    for batch in batches(prompts, BATCH):
        store.enqueue(batch)
    waiting = iter(answers)
    while claimed := store.claim(BATCH):
        store.complete([(*next(waiting), job) for job, _ in claimed])
