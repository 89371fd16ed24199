"""Stores as text: one of each earlier schema version is kept in `tests/stores`, written by the program of that version.

Before a migration is added, `python -m tests.support.stores` writes the store of the version that is an earlier one
from then on.
"""

import gzip
from pathlib import Path

import anyio

from app.store import schema
from tests.integration.store.raw import connection
from tests.support.filled import every_kind, filled
from tests.support.typed import ROOT

FOLDER = ROOT / "tests/stores"


def make(path: Path) -> None:
    """A store of today with jobs in every state and answers of every kind."""

    async def fill() -> None:
        async with filled(path) as at:
            await every_kind(at)

    anyio.run(fill)


def dump(path: Path) -> str:
    """Its schema and its rows as SQL."""
    with connection(path) as store:
        return "\n".join(store.iterdump()) + "\n"


def load(text: str, path: Path) -> None:
    """The store of a dump."""
    with connection(path) as store:
        store.executescript(text)
        store.execute("PRAGMA journal_mode=WAL")


def kept() -> dict[str, Path]:
    """The dumps by their schema version."""
    return {file.name.partition(".")[0]: file for file in sorted(FOLDER.glob("*.sql.gz"))}


def read(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


def write(folder: Path) -> Path:
    """Write today's store among the kept ones, in `folder` meanwhile."""
    make(folder / "t.db")
    file = FOLDER / f"{schema.NEWEST}.sql.gz"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(gzip.compress(dump(folder / "t.db").encode(), mtime=0))
    return file


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as meanwhile:
        write(Path(meanwhile))
