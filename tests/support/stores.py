"""Stores of the past: one of each earlier schema version is kept in `tests/stores`, written by its own program.

Before a migration is added, `python -m tests.support.stores` writes the store of the version that is an earlier one
from then on.
"""

import gzip
from pathlib import Path

import anyio

from app.store import schema
from tests.integration.store.raw import connection
from tests.support.filled import every_kind, filled
from tests.support.forks import ROOT

FOLDER = ROOT / "tests/stores"


def make(path: Path) -> None:
    """A store of today with jobs in every state and answers of every kind."""

    async def fill() -> None:
        async with filled(path) as at:
            await every_kind(at)

    anyio.run(fill)


def dump(path: Path) -> bytes:
    """Its one file, packed; made by SQLite, since what was committed last may lie in the WAL."""
    copy = path.with_suffix(".copy")
    with connection(path) as store:
        store.execute("VACUUM INTO ?", (str(copy),))
    return gzip.compress(copy.read_bytes(), mtime=0)


def load(packed: bytes, path: Path) -> None:
    """The store of a dump, in the mode that every store has."""
    path.write_bytes(gzip.decompress(packed))
    path.chmod(0o600)
    with connection(path) as store:
        store.execute("PRAGMA journal_mode=WAL")


def kept() -> dict[str, Path]:
    """The dumps by their schema version."""
    return {file.name.partition(".")[0]: file for file in sorted(FOLDER.glob("*.db.gz"))}


def write(folder: Path) -> Path:
    """Write today's store among the kept ones, in `folder` meanwhile."""
    make(folder / "t.db")
    file = FOLDER / f"{schema.NEWEST}.db.gz"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(dump(folder / "t.db"))
    return file


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as meanwhile:
        write(Path(meanwhile))
