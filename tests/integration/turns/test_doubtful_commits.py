"""A commit that is reported as failed and done all the same: the conversation whose answer it was goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import OperationalError

from app.model.exits import Exit
from tests.integration.store import raw
from tests.integration.store.kit import run
from tests.integration.turns.kit import talks
from tests.support.kinds import db, kind
from tests.support.simulator import Simulator
from worker.log import Log
from worker.supervisor import WorkerSettings, run_worker

TURNS = 3


class _Lost(Exception):
    """As asyncpg says it: without an answer of the server there is no state."""

    sqlstate = None


def _reported() -> OperationalError:
    """How a commit fails that may have been done: the disk under a file, the connection to a server."""
    if kind() == "sqlite":
        return OperationalError("COMMIT", None, raw.sqlite3.OperationalError("disk I/O error"))
    return OperationalError("COMMIT", None, _Lost("the answer was lost"), connection_invalidated=True)


@contextmanager
def first_settling_in_doubt() -> Iterator[list[str]]:
    """The first transaction that settles an answer is committed, and reported as failed; what was done so."""
    settling: list[Connection] = []
    doubtful: list[str] = []

    def look(connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if not doubtful and statement.startswith("DELETE FROM unread"):
            settling.append(connection)
            doubtful.append(statement)

    def commit(connection: Connection) -> None:
        if connection in settling:
            settling.remove(connection)
            driver = connection.connection.dbapi_connection
            assert driver is not None
            driver.commit()
            raise _reported()

    event.listen(Engine, "before_cursor_execute", look)
    event.listen(Engine, "commit", commit)
    try:
        yield doubtful
    finally:
        event.remove(Engine, "before_cursor_execute", look)
        event.remove(Engine, "commit", commit)


@pytest.mark.parametrize("hold_s", [5.0, 0.0], ids=["repeated", "given up"])
def test_a_conversation_goes_on_after_a_commit_that_was_reported_as_failed(tmp_path: Path, hold_s: float) -> None:
    async def work(url: str) -> tuple[Exit, list[str]]:
        async with talks(tmp_path, TURNS):
            pass
        settings = WorkerSettings(
            db(tmp_path / "t.db"), (url,), until_empty=True, preflight=False, concurrency=4, spool_after_s=hold_s
        )
        with anyio.fail_after(60), first_settling_in_doubt() as doubtful:
            return await run_worker(settings, Log(quiet=True)), doubtful

    with Simulator() as simulator:
        code, doubtful = run(lambda: work(simulator.url))
        assert simulator.stats()["requests"] == TURNS
    assert (code, len(doubtful)) == (Exit.DONE, 1)
    path = tmp_path / "t.db"
    assert raw.query(path, "SELECT state, attempt, turn, expiries FROM job") == [("done", 1, TURNS, 0)]
    assert raw.query(path, "SELECT attempt, turn, late FROM response ORDER BY turn") == [
        (1, turn, 0) for turn in range(TURNS)
    ]
    assert raw.query(path, "SELECT count(*) FROM unread") == [(0,)]
