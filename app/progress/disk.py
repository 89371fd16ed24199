"""How much room the open jobs will take, by what the latest answers took, and how much there is."""

import shutil
from pathlib import Path

from app.progress import statements
from app.progress.overview import Need, Usage
from app.store.store import Store
from app.store.transaction import Reads

OVERHEAD = 1.25  # pages are never full, and rows have indexes
ROW_BYTES = 1024  # what an answer takes beside its body and its texts


def disk_usage(folder: Path) -> Usage:
    """What the system says of the disk that holds `folder`."""
    found = shutil.disk_usage(folder)
    return Usage(found.total, found.free)


async def need(store: Store) -> Need:
    """By the latest 200 answers, and the jobs that are ready, leased or waiting."""
    async with store.snapshot() as reads:
        return await need_in(reads)


async def need_in(reads: Reads) -> Need:
    """The same within a snapshot."""
    mean = await reads.value(statements.answer_bytes())
    answer_bytes = None if mean is None else int((mean + ROW_BYTES) * OVERHEAD)
    return Need(int(await reads.value(statements.open_jobs()) or 0), answer_bytes)
