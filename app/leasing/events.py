"""What happened to the run, as rows with a time."""

import json

from app.leasing import statements
from app.store.transaction import Tx

Detail = str | int | list[list[str | int]]


async def note(tx: Tx, kind: str, *, dataset: int | None = None, worker: int | None = None, **detail: Detail) -> None:
    """Keep one event in the transaction that caused it."""
    await tx.run(
        statements.note_event(),
        {"at_ms": tx.now_ms, "kind": kind, "dataset_id": dataset, "worker_id": worker, "detail": json.dumps(detail)},
    )
