"""The rows of one store put into another, and both compared."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Table

from app.model.errors import IntegrityFailure
from app.store.moving import filling, rows
from app.store.moving.ends import Held, Written
from app.store.moving.rows import TABLES, Digests, Key, Row
from app.store.transaction import Tx, at_once

ROOMY_BYTES = 4 * 2**20  # of one transaction
MOST_ROWS = 4000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """What a finished copy holds: rows of each table, and the hash of each of its columns."""

    rows: Mapping[str, int]
    sha256: Mapping[str, Mapping[str, str]]
    resumed: bool


class Move:
    """A copy under way from one end to the other."""

    def __init__(self, source: Held, target: Written, shown: str, progress: Progress) -> None:
        self._source, self._target, self._shown, self._progress = source, target, shown, progress
        self._steps = self._steps_done = 0

    async def fill(self) -> Moved:
        """Put in what is missing, and compare everything. Raises where the two differ, and leaves it unusable then."""
        meta = await self._source.run(filling.meta_of)
        resumed = await self._target.run(partial(filling.begin, meta=meta, shown=self._shown))
        self._steps = 2 * sum([await self._source.run(partial(rows.count, table=table)) for table in TABLES])
        for table in TABLES:
            await self._fill_table(table)
        digests = [await self._compare(table) for table in TABLES]
        await self._compare_meta(meta)
        return Moved(
            {one.table.name: one.rows for one in digests}, {one.table.name: one.columns() for one in digests}, resumed
        )

    async def _fill_table(self, table: Table) -> None:
        """From the last row that is there: rows come in the order of their keys, and each transaction is whole."""
        after = await self._target.run(partial(rows.last_key, table=table))
        if after is not None:
            self._step(await self._target.run(partial(rows.count, table=table)))
        while batch := await self._source.run(partial(_batch, table=table, after=after)):
            await self._target.run(partial(filling.put, table=table, rows=batch))
            after = rows.key_in(table, batch[-1])
            self._step(len(batch))

    async def _compare(self, table: Table) -> Digests:
        theirs, ours = Digests(table), Digests(table)
        after: Key | None = None
        while True:
            page = await self._source.run(partial(rows.page, table=table, after=after))
            copied = await self._target.run(partial(rows.page, table=table, after=after))
            theirs.take(page)
            ours.take(copied)
            self._step(len(page))
            if not page:
                break
            after = rows.key_in(table, page[-1])
        differing = list(theirs.differing(ours))
        if differing:
            self._differ(f"table {table.name} ({theirs.rows:,} rows against {ours.rows:,}) in {', '.join(differing)}")
        return ours

    async def _compare_meta(self, meta: Mapping[str, Any]) -> None:
        copied = await self._target.run(filling.meta_of)
        differing = [name for name in filling.KEPT if meta[name] != copied[name]]
        if differing:
            self._differ(f"table meta in {', '.join(differing)}")

    def _differ(self, where: str) -> None:
        raise IntegrityFailure(
            f"{self._shown} is not what was copied: {where}. Where the copy was cut off before and work went on since, "
            "that is why; copy to a new file or database. What is there is no store, and no command uses it."
        )

    def _step(self, count: int) -> None:
        self._steps_done = min(self._steps, self._steps_done + count)
        self._progress(self._steps_done, self._steps)

    async def finish(self, adopt: Callable[[Tx], Awaitable[None]], now_ms: int) -> None:
        """Let it be a store, after `adopt` in the same transaction."""
        seq = int((await self._source.run(filling.meta_of))["seq"])
        await self._target.run(partial(_finish, seq=seq, adopt=adopt, now_ms=now_ms))


def _batch(connection: Connection, table: Table, after: Key | None) -> list[Row]:
    """The rows of the next transaction: some pages, or one of long rows."""
    batch: list[Row] = []
    while len(batch) < MOST_ROWS and rows.weight(batch) < ROOMY_BYTES:
        page = rows.page(connection, table, after)
        if not page:
            break
        batch += page
        after = rows.key_in(table, page[-1])
    return batch


def _finish(connection: Connection, seq: int, adopt: Callable[[Tx], Awaitable[None]], now_ms: int) -> None:
    filling.start_triggers(connection)
    filling.go_on_behind(connection, seq)
    at_once(adopt(Tx(connection, now_ms)))
    filling.finish(connection)
