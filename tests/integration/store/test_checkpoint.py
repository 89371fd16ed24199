"""Without a fixed SQLite library the WAL is moved into the file by explicit checkpoints only."""

from pathlib import Path

import pytest

from app.store import checkpoint, library
from app.store.store import Store
from tests.integration.store.kit import in_store, note


def test_a_large_wal_is_emptied_between_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "is_fixed", lambda: False)
    monkeypatch.setattr(checkpoint, "DUE_BYTES", 200_000)
    wal = tmp_path / "t.db-wal"

    async def work(store: Store) -> list[int]:
        sizes = []
        for number in range(100):
            await store.write(note, f"{number}")
            sizes.append(wal.stat().st_size)
        return sizes

    sizes = in_store(tmp_path / "t.db", work, create=True)
    assert max(sizes[1:]) < 300_000  # the first holds the making of the schema, before any checkpoint
    assert sizes != sorted(sizes)  # it shrank at least once


def test_with_a_fixed_library_sqlite_checkpoints_by_itself(tmp_path: Path) -> None:
    if not library.is_fixed():
        pytest.skip("this platform has no fixed SQLite library")

    async def work(store: Store) -> int:
        with store._writer._engine.connect() as connection:
            return int(connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar_one())

    assert in_store(tmp_path / "t.db", work, create=True) == 1000
