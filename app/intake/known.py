"""A file that was imported before, known again by its bytes: then no row of it is read once more.

A dataset's samples never change, and none goes but with the whole dataset. So rows that were all taken once are all
there, and contradict nothing that was imported since. A file of which a row was rejected is read again, row by row, to
name each reject again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from anyio import to_thread

from app.intake import statements
from app.intake.formats import READABLE
from app.intake.lines import STDIN
from app.intake.matching import Repeats
from app.intake.request import ImportReport, ImportRequest
from app.model.ids import DatasetId
from app.store.store import Store

IMPORTED, CREATED = "imported", "dataset_created"
_COUNTED = ("rows", "repeated", "formats", "notes", "conversations", "turns")
Memory = Mapping[str, Any]


def memory_of(request: ImportRequest, report: ImportReport, bytes_read: int) -> Memory | None:
    """What an import says of its file for the next time; None where that must read it again."""
    answers = any(READABLE[name].answer for name in report.formats)  # which a job may want again
    if report.sha256 is None or report.rejected or answers or request.repeats != Repeats():
        return None
    counted = {name: getattr(report, name) for name in _COUNTED}
    return {"sha256": report.sha256, "bytes": bytes_read, "read_as": _read_as(request), **counted}


async def recall(store: Store, dataset: DatasetId | None, request: ImportRequest) -> ImportReport | None:
    """The report of an import whose file the dataset has taken before, whole and read in the same way."""
    size = _size(request.path)
    if dataset is None or size is None or request.limit is not None or request.repeats != Repeats():
        return None
    read_as = _read_as(request)
    memories = [one for one in await _memories(store, dataset) if (one["bytes"], one["read_as"]) == (size, read_as)]
    if not memories:
        return None
    sha256 = await to_thread.run_sync(_sha256, request.path, abandon_on_cancel=True)
    found = next((one for one in memories if one["sha256"] == sha256), None)
    return None if found is None else _report(request, found)


async def _memories(store: Store, dataset: DatasetId) -> list[Memory]:
    """Those of the dataset's imports, the newest first, back to where it was made.

    None where its deletion ever began: that may have been cut off, and an import that ran beside it ended after it.
    """
    async with store.snapshot() as reads:
        events = await reads.rows(statements.latest_imports(), {"dataset": dataset})
    made = next((at for at, event in enumerate(events) if event.kind == CREATED), None)
    if made is None:
        return []  # so many imports that its beginning is out of sight
    since = events[:made]
    if any(event.kind != IMPORTED for event in since):
        return []
    memories = (json.loads(event.detail).get("memory") for event in since)
    return [memory for memory in memories if memory is not None]


def _read_as(request: ImportRequest) -> dict[str, Any]:
    """What decides how rows are read: another version may see another prompt in them."""
    return {"version": version("thinkledger"), **asdict(request.reading)}


def _size(path: str) -> int | None:
    """Bytes of a file; None for what can be read once only."""
    return Path(path).stat().st_size if path != STDIN and Path(path).is_file() else None


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _report(request: ImportRequest, found: Memory) -> ImportReport:
    return ImportReport(
        dataset=request.dataset, file=request.source_name, sha256=found["sha256"], created=False, added=0,
        present=found["rows"], dropped=0, rejected=0, reasons={}, rejects=None,
        **{name: found[name] for name in _COUNTED},
    )  # fmt: skip
