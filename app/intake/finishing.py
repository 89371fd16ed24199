"""The end of an import: what its file was, and a line of the audit trail."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from app.intake import statements
from app.intake.adding import Batch, source_row
from app.intake.known import IMPORTED, memory_of
from app.intake.request import ImportReport
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class End:
    """The end of an import."""

    batch: Batch
    report: ImportReport
    bytes_read: int  # of the file


async def finish(tx: Tx, ends: Sequence[End]) -> list[None]:
    """Close each import; the operation for `Store.write`."""
    for end in ends:
        await _finish_one(tx, end)
    return [None] * len(ends)


async def _finish_one(tx: Tx, end: End) -> None:
    """Close the file's row. A file that added nothing gets one only if its bytes are new to the dataset.

    Rows that imports of the same file left, which were cut off before this one, are closed with it.
    """
    batch, report = end.batch, end.report
    source = batch.source
    if source is None and (report.sha256 is None or await _is_known(tx, batch, report.sha256)):
        return
    await tx.seq()
    if source is None:
        source = int(await tx.value(statements.new_source(), source_row(batch, tx.now_ms)))
    facts = {
        "source": source,
        "rows_read": report.rows,
        "rows_rejected": report.rejected,
        "file_sha256": report.sha256,
        "at_ms": tx.now_ms,
    }
    await tx.run(statements.finish_source(), facts)
    if report.sha256 is not None:
        cut_off = {"dataset": batch.into, "file_name": report.file, "source": source, "at_ms": tx.now_ms}
        await tx.run(statements.end_cut_off(), cut_off)
    detail = {"file": report.file, "rows": report.rows, "added": report.added, "rejected": report.rejected}
    detail |= {"memory": memory_of(batch.request, report, end.bytes_read)}
    event = {"at_ms": tx.now_ms, "kind": IMPORTED, "dataset_id": batch.into, "detail": json.dumps(detail)}
    await tx.run(statements.new_event(), event)


async def _is_known(tx: Tx, batch: Batch, sha256: str) -> bool:
    params = {"dataset": batch.into, "file_sha256": sha256}
    return await tx.first(statements.source_of_content(), params) is not None
