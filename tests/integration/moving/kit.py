"""A store with rows in every table, and what stands in another one beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from app.export.exporting import export_dataset
from app.export.request import ExportRequest
from app.keeping.copying import Copied, copy
from app.store.moving.moving import Progress
from app.store.moving.rows import TABLES, key_of
from app.store.store import Store, open_store
from app.store.tables import (
    ALARM,
    ENDPOINT_HEALTH,
    EVALUATOR,
    FAILURE,
    GATE_WINDOW,
    HOLD,
    RESPONSE,
    TOKEN_IDS,
    TURN,
    UNREAD,
)
from app.store.transaction import Tx
from tests.integration.store.kit import only
from tests.support.filled import Filled, chat, every_kind, filled

ODD = chat("a\x00b \ud800</think>\x01 \U0001f600 answer")  # a NUL, a lone surrogate and PostgreSQL's own escape
ODD_TEXT = "\x00\x01\x01\x02 \U0001f600 é \\u0000"
NEW = {"epoch", "seq"}  # of the row about the store itself


async def add(tx: Tx, rows: Sequence[tuple[Any, dict[str, Any]]]) -> list[None]:
    await tx.seq()
    for table, row in rows:
        await tx.run(insert(table), row)
    return [None] * len(rows)


async def fill(path: Path | str) -> None:
    """Every state and every verdict, and what comes of gates, conversations, servers and alarms."""
    async with filled(path) as at:
        await every_kind(at)
        await at.dataset("odd", 3)
        await at.answer_next("odd", ODD)
        for row in await _rest(at):
            await at.store.write(add, row)


async def _rest(at: Filled) -> list[tuple[Any, dict[str, Any]]]:
    async with at.store.snapshot() as reads:
        response = await reads.first(select(RESPONSE.c.id, RESPONSE.c.job_id).order_by(RESPONSE.c.id))
    assert response is not None
    of_response = {"response_id": response.id}
    window = {"since_ms": 1, "gate": "open", "first": "cc", "recent": "cc", "answers": 2, "lost": 0}
    failure = {"job_id": response.job_id, "attempt": 1, "at_ms": 2**40, "cause": "x", "message": ODD_TEXT, "counted": 1}
    return [
        (HOLD, {"dataset_id": 2, "kind": "person", "reason": ODD_TEXT, "since_ms": 1, "since_seq": 1}),
        (GATE_WINDOW, {"dataset_id": 1, "endpoint_id": at.endpoint, **window}),
        (ALARM, {"kind": "lost_any", "subject": "d", "since_ms": 1, "last_ms": 2, "message": "m", "state": "open"}),
        (ENDPOINT_HEALTH, {"worker_id": at.worker, "base_url": "u", "up": 0, "since_ms": 1, "reason": "r"}),
        (TURN, {"job_id": response.job_id, "turn": 0, **of_response}),
        (UNREAD, {"job_id": response.job_id, "worker_id": at.worker, **of_response}),
        (TOKEN_IDS, {"seq": 1, "prompt": bytes(range(256)), "answer": b"", **of_response}),
        (TOKEN_IDS, {"seq": 2, "prompt": None, "answer": None, **of_response}),
        (FAILURE, failure | {"body": b"\x00\xff"}),
        (EVALUATOR, {"id": 1, "holder": "h", "until_ms": 1, "evaluated_ms": 1}),
    ]


async def copied(source: str, target: str, progress: Progress = lambda _done, _total: None) -> Copied:
    """A copy; an error comes out as itself, without the group that a task group puts around it."""
    try:
        return await copy(source, target, progress)
    except BaseExceptionGroup as group:
        raise only(group) from None


async def everything(db: Path | str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    async with open_store(str(db)) as store, store.snapshot() as reads:
        return {
            table.name: [tuple(row) for row in await reads.rows(select(table).order_by(*key_of(table)))]
            for table in TABLES
        }


async def exported(store: Store, folder: Path, dataset: str) -> bytes:
    """The bytes of an export."""
    target = folder / f"{dataset}.jsonl"
    await export_dataset(store, ExportRequest(dataset, target, overwrite=True))
    return target.read_bytes()
