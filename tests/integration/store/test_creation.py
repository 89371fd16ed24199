"""A store is made once, whoever comes at the same time and wherever a maker dies."""

import os
import stat
from pathlib import Path

import pytest

from app.model.errors import NotFound
from app.store.place import APPLICATION_ID
from app.store.schema import NEWEST
from app.store.store import Store
from tests.integration.store import raw
from tests.integration.store.kit import in_store, make, nothing, process, says


def test_four_processes_that_start_at_once_share_one_store(tmp_path: Path) -> None:
    rounds = 12
    with process("create_together", tmp_path, rounds, 4) as started:
        said = [says(started) for _ in range(rounds)]
    for number, line in enumerate(said):
        path = tmp_path / f"{number}.db"
        ((store_id,),) = raw.query(path, "SELECT store_id FROM meta")
        assert line == f"[0, 0, 0, 0] {[store_id] * 4}"
        assert raw.query(path, "SELECT version_num FROM alembic_version") == [(NEWEST,)]


@pytest.mark.parametrize("bytes_there", [0, 1, 4097])
def test_a_store_whose_maker_was_killed_is_made_by_the_next(tmp_path: Path, bytes_there: int) -> None:
    path = tmp_path / "t.db"
    wal = tmp_path / "t.db-wal"
    with process("create", path) as maker:
        assert says(maker) == "making"
        while maker.poll() is None and not (path.exists() and _size(path) + _size(wal) >= bytes_there):
            pass
        maker.kill()
    make(path)
    assert raw.query(path, "SELECT count(*) FROM meta") == [(1,)]
    assert raw.query(path, "PRAGMA integrity_check") == [("ok",)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # not there yet, or the maker has just closed the store and removed its WAL
        return 0


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_store_and_what_lies_beside_it_belong_to_their_owner_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:

        async def look(_store: Store) -> None:
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
            assert modes == {"t.db": 0o600, "t.db-wal": 0o600, "t.db-shm": 0o600}

        in_store(tmp_path / "t.db", look)
    finally:
        os.umask(before)


def test_our_id_stands_in_the_header_of_the_file(tmp_path: Path) -> None:
    make(tmp_path / "t.db")
    header = raw.header(tmp_path / "t.db")
    assert header[68:72] == APPLICATION_ID.to_bytes(4, "big") == b"Thlg"
    assert header[18:20] == b"\x02\x02"  # WAL, for readers and writers


def test_without_leave_to_create_nothing_is_created(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        in_store(tmp_path / "t.db", nothing, create=False)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_store_only_where_one_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.touch()
    with pytest.raises(NotFound):
        in_store(path, nothing, create=False)
    assert path.stat().st_size == 0
    make(path)
    in_store(path, nothing, create=False)


def test_a_store_keeps_its_identity(tmp_path: Path) -> None:
    async def identity(store: Store) -> tuple[str, int]:
        return store.store_id, store.epoch

    first = in_store(tmp_path / "t.db", identity)
    assert in_store(tmp_path / "t.db", identity, create=False) == first
    assert first[0] != in_store(tmp_path / "other.db", identity)[0]


@pytest.mark.parametrize("name", ["what?.db", "a#b.db", "50%41.db", "ö ü.db", "a&b=c.db", "'quoted'.db"])
def test_any_name_is_taken_as_it_stands(tmp_path: Path, name: str) -> None:
    make(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert raw.header(tmp_path / name)[68:72] == b"Thlg"


def test_two_names_of_one_file_are_one_store(tmp_path: Path) -> None:
    make(tmp_path / "t.db")
    (tmp_path / "link.db").symlink_to("t.db")

    async def place(store: Store) -> Path:
        return store.place.path

    assert in_store(tmp_path / "link.db", place) == (tmp_path / "t.db").resolve()
    assert in_store(f"sqlite:///{tmp_path}/t.db", place) == (tmp_path / "t.db").resolve()
