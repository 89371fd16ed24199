"""A store whose files were moved, replaced, removed or cut under a process that has it open is written to no more."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.model.errors import IntegrityFailure, StoreReplaced
from app.store.store import Store
from tests.integration.store import raw
from tests.integration.store.kit import in_store, make, note, process, says


def remove(path: Path) -> None:
    path.unlink()


def move_away(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def replace(path: Path) -> None:
    path.with_name("other.db").rename(path)


def remove_wal(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


def replace_wal(path: Path) -> None:
    wal = path.with_name(path.name + "-wal")
    wal.rename(path.with_name("old-wal"))
    wal.touch()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 4096)


@pytest.mark.parametrize("change", [remove, move_away, replace, remove_wal, replace_wal, cut])
def test_what_is_no_longer_ours_is_not_written_to(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "t.db"
    make(tmp_path / "other.db")

    async def work(store: Store) -> None:
        await store.write(note, "before")
        store.check_files()
        change(path)
        expected = IntegrityFailure if change is cut else StoreReplaced
        with pytest.raises(expected, match="while this process had it open"):
            await store.write(note, "after")
        with pytest.raises(expected):
            await store.write(note, "and no later one")

    with pytest.raises(IntegrityFailure):
        in_store(path, work)


def test_the_other_store_is_left_as_it_was_and_gets_no_rows_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    make(tmp_path / "other.db")

    async def work(store: Store) -> None:
        await store.write(note, "before")
        replace(path)
        await store.write(note, "after")

    with pytest.raises(StoreReplaced):
        in_store(path, work)
    assert raw.query(path, "SELECT count(*) FROM event") == [(0,)]
    assert [file.name for file in tmp_path.iterdir() if "-wal.of-inode-" in file.name]


def test_a_file_shorter_than_its_header_says_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    make(path)
    os.truncate(path, path.stat().st_size - 4096)
    kept = path.read_bytes()
    with pytest.raises(IntegrityFailure, match=r"is cut off: [\d,]+ of [\d,]+ bytes"):
        make(path)
    assert path.read_bytes() == kept


def test_a_store_whose_wal_was_removed_after_a_crash_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    make(path)
    with process("hold", path) as dying:
        assert says(dying) == "held"
        dying.kill()
    wal, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    assert index.exists()
    wal.unlink()
    with pytest.raises(IntegrityFailure, match=r"t\.db-wal was removed"):
        make(path)
    index.unlink()
    make(path)


def test_a_store_in_use_by_nobody_else_is_opened_again_and_again(tmp_path: Path) -> None:
    """The last connection removes the WAL, and the next process makes another: that is no replacement."""
    path = tmp_path / "t.db"

    async def work(store: Store) -> None:
        await store.write(note, "one more")
        store.check_files()

    for _ in range(3):
        in_store(path, work)
    shutil.copy(path, tmp_path / "copy.db")
    in_store(tmp_path / "copy.db", work)
    assert raw.query(tmp_path / "copy.db", "SELECT count(*) FROM event") == [(4,)]
