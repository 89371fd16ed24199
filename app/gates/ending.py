"""The end of a run: a window that no answer will finish any more is judged by what it has."""

from collections.abc import Sequence
from itertools import groupby

from app.gates import statements
from app.gates.watching import alarm_of, report, rules_of, window_of
from app.model.gates import unfinished
from app.model.ids import DatasetId
from app.store.transaction import Tx


async def judge_unfinished(tx: Tx, wanted: Sequence[frozenset[str] | None]) -> list[int]:
    """Hold the datasets (of those names; None: all) that ended with too little captured; how many for each request.

    One that a person paused has not ended: its other jobs may be asked yet.
    """
    return [await _judge(tx, names) for names in wanted]


async def _judge(tx: Tx, names: frozenset[str] | None) -> int:
    rows = [row for row in await tx.rows(statements.ended_windows()) if names is None or row.name in names]
    found = []
    for dataset, of_one in groupby(rows, key=lambda row: int(row.dataset)):
        windows = list(of_one)
        finding = unfinished([window_of(row) for row in windows], rules_of(windows[0]))
        if finding is not None:
            found.append(alarm_of(finding, DatasetId(dataset), windows[0].name))
    if found:
        await tx.seq()
        await report(tx, found)
    return len(found)
