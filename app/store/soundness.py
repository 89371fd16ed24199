"""What SQLite itself finds wrong with a file: pages, indexes, CHECKs, foreign keys."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import text

from app.store.transaction import Reads

MOST = 100  # complaints that are listed


async def complaints(reads: Reads, *, full: bool) -> Sequence[str]:
    """SQLite's own words; none where the file is sound. `full` compares every index with its table too."""
    if reads.on_server:
        return []  # a server looks after its own pages
    check = "integrity_check" if full else "quick_check"
    return [str(row[0]) for row in await reads.rows(text(f"PRAGMA {check}({MOST})")) if row[0] != "ok"]


async def server_version(reads: Reads) -> str | None:
    """What the server says it is: `15.8 (Debian ...)`; None of a file."""
    if not reads.on_server:
        return None
    return str(await reads.value(text("SELECT current_setting('server_version')")))


async def dangling(reads: Reads) -> Sequence[str]:
    """Rows that point to a row which is not there."""
    if reads.on_server:
        return []
    rows: list[tuple[Any, ...]] = list(map(tuple, await reads.rows(text("PRAGMA foreign_key_check"))))
    return [f"row {row[1]} of table {row[0]} points to a row of {row[2]} that is not there" for row in rows[:MOST]]
