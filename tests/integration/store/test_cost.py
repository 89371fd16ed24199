"""What a batch costs the store, in counts that no machine changes: statements, and bytes of the WAL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from sqlalchemy import event

from app.model.lease import Lease
from tests.integration.store import raw
from tests.integration.store.kit import run
from tests.support.filled import Filled, chat, filled

BATCH = 64
BODY = chat("x" * 6000 + "</think>" + "y" * 2000)


@contextmanager
def _counted(at: Filled) -> Iterator[list[str]]:
    """The statements of writing transactions, each once whatever the number of its rows."""
    ran: list[str] = []
    engine = at.store._writer._engine

    def note(_connection: Any, _cursor: Any, sql: str, *_: Any) -> None:
        ran.append(sql.split("(")[0])

    event.listen(engine, "before_cursor_execute", note)
    yield ran
    event.remove(engine, "before_cursor_execute", note)


@contextmanager
def _written(path: Path) -> Iterator[list[int]]:
    """Bytes that go to the WAL. A snapshot from before keeps it from being begun anew."""
    wal, grown = path.with_name(path.name + "-wal"), [0]
    with raw.connection(path) as old:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        old.execute("BEGIN")
        old.execute("SELECT seq FROM meta").fetchall()
        before = wal.stat().st_size
        yield grown
        grown[0] = wal.stat().st_size - before


async def _answer_all(at: Filled, leases: list[Lease]) -> None:
    async with anyio.create_task_group() as tasks:
        for lease in leases:
            tasks.start_soon(at.answer, lease, BODY)


def test_a_batch_is_claimed_and_settled_by_as_many_statements_as_one_job(tmp_path: Path) -> None:
    async def work() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("d", 2 * BATCH + 1)
            await _answer_all(at, await at.claim(1))  # the parser's version is noted once
            counts = []
            for slots in (1, BATCH):
                with _counted(at) as ran:
                    leases = await at.claim(slots)
                claims = len(ran)
                with _counted(at) as ran:
                    await _answer_all(at, leases)
                counts.append((claims, len(ran)))
        assert counts[0] == counts[1]
        assert sum(counts[0]) <= 22

    run(work)


def test_a_claim_and_a_settled_batch_write_bounded_bytes(tmp_path: Path) -> None:
    """A claim rewrites a few narrow pages; an answer its own columns, its body twice, and less than 8 KB beside."""

    async def work() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("d", 5 * BATCH)
            await _answer_all(at, await at.claim(BATCH))
            with _written(tmp_path / "t.db") as claimed:
                leases = await at.claim(BATCH)
            with _written(tmp_path / "t.db") as settled:
                await _answer_all(at, leases)
        assert claimed[0] <= 60_000
        assert settled[0] / BATCH <= 8000 + 8 * 1024

    run(work)
