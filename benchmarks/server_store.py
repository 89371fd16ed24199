"""A store of any size on a PostgreSQL server, made by copying what the product wrote for a few rows.

Each row of each table comes again under other numbers, a statement a table, with triggers put aside and sums made anew.
"""

from typing import Any

from app.store.tables import METADATA
from benchmarks import cycle
from benchmarks.data import batches
from tests.support.postgres import Server

PATTERN = 1024  # rows that the product makes itself
_SIZE = 512  # bytes of a body
# What is a number of a job, a sample or a response, and so another one in each copy.
_NUMBERED = {
    "sample": ("id", "source_row"),
    "job": ("id", "ordinal", "sample_ref"),
    "response": ("id", "job_id"),
    "body": ("response_id",),
    "reading": ("response_id",),
}
_READY = {"state": "'ready'", "attempt": "0", "tries": "0", "expiries": "0", "deaths": "0"}
_KEPT_BY_READY = frozenset(
    ["id", "dataset_id", "sample_ref", "sample_id", "replica", "ordinal", "rank", "max_attempts", *_READY]
)


def fill(server: Server, url: str, rows: int, answered: int) -> None:
    """So many jobs in one dataset, the first `answered` of them done, the rest to be asked."""
    cycle.run(_pattern, url)
    database = url.rpartition("/")[2]
    ready = rows - answered
    server.run(
        "SET session_replication_role = replica",  # of this connection: no triggers
        *(_copies(table, 1, answered // PATTERN - 1) for table in _NUMBERED),
        _copies("sample", answered // PATTERN, ready // PATTERN),
        _copies("job", answered // PATTERN, ready // PATTERN, ready=True),
        "TRUNCATE counter_slot, reasoning_length_slot",
        """INSERT INTO counter_slot (dataset_id, metric, n, slot)
            SELECT dataset_id, 'state:' || state, count(*), 0 FROM job GROUP BY 1, 2 UNION ALL
            SELECT dataset_id, 'expected:' || verdict, count(*), 0 FROM job WHERE state = 'done' GROUP BY 1, 2""",
        *(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))"
            for table in ("sample", "job", "response")
        ),
        "VACUUM ANALYZE",
        "CHECKPOINT",
        database=database,
    )


async def _pattern(url: str) -> None:
    async with cycle.opened(url) as at:
        await at.enqueue([cycle.row(number) for number in range(PATTERN)])
        for some in batches([cycle.answer(number, _SIZE, packed=False) for number in range(PATTERN)], cycle.BATCH):
            await at.complete(await at.claim(len(some)), some)


def _copies(table: str, first: int, count: int, *, ready: bool = False) -> str:
    """The statement that makes copies number `first` and following of the pattern's rows."""
    columns = [column.name for column in METADATA.tables[table].columns]
    values = [_value(table, name, ready=ready) for name in columns if not ready or name in _KEPT_BY_READY]
    if ready:
        columns = [name for name in columns if name in _KEPT_BY_READY]
    number = f"one.{_NUMBERED[table][0]}"
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {table} AS one,"
        f" generate_series({first}, {first + count - 1}) AS copy WHERE {number} <= {PATTERN} ORDER BY copy, {number}"
    )


def _value(table: str, column: str, *, ready: bool) -> Any:
    if ready and column in _READY:
        return _READY[column]
    if column in _NUMBERED[table]:
        return f"one.{column} + copy * {PATTERN}"
    if column in ("sample_id", "base_id"):
        return f"one.{column} || '-' || copy"
    return f"one.{column}"
