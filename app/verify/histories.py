"""Conversations: what each turn was asked after, against the answers that stand before it."""

from collections.abc import Sequence
from typing import Any

from app.leasing.conversations import Place
from app.leasing.histories import histories
from app.model.ids import JobId
from app.store.batch import bind_rows
from app.store.transaction import Reads
from app.verify import statements
from app.verify.findings import Finding

BATCH = 20  # conversations, with all that was said in them
ASK_ANEW = "ask the conversation anew with `thinkledger retry`; an export leaves it out as history_changed"


async def check_histories(reads: Reads, jobs: Sequence[JobId], names: dict[int, str]) -> list[Finding]:
    """Turns of these conversations that were asked after something else than any reading of the answers before them.

    One that was asked after an older reading is sound: an export says so.
    """
    rows = await reads.rows(statements.scripts(), {"jobs": bind_rows((job,) for job in jobs)})
    places = [Place(JobId(row.id), row.messages, row.turns, row.turn) for row in rows]
    sent = await histories(reads, places, {JobId(row.id): row.tools for row in rows})
    return [_finding(row, one.turn, names) for row in rows for one in sent[JobId(row.id)] if one.messages is None]


def _finding(row: Any, turn: int, names: dict[int, str]) -> Finding:
    what = f"turn {turn} was not asked after the answers that stand before it"
    return Finding(what, ASK_ANEW, names.get(row.dataset_id, f"dataset {row.dataset_id}"), row.sample_id)
