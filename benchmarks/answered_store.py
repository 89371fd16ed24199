"""Stores in which every job is done, for exports and reparses; made once through the product, and kept."""

from pathlib import Path

from benchmarks import cycle
from benchmarks.large_store import CACHE, schema

SIZE = 16_384  # bytes of a body


def answered_store(rows: int) -> Path:
    """The store with so many answers. Leave its rows alone."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"answered-{rows}-{SIZE}-{schema()}.db"
    if not path.exists():
        part = path.with_suffix(".part")
        for old in CACHE.glob(f"{part.name}*"):
            old.unlink()
        cycle.run(cycle.fill, part, rows, SIZE)
        part.rename(path)
    return path
